-- The competitions of the export: what each has of a community before its deadline, and why it cannot be built, if so.
-- Variables: `exported`, and `slugs`: of which competitions, or null for all.

CREATE OR REPLACE TEMP VIEW competition_rows AS
WITH chosen AS (
  SELECT * FROM Competitions WHERE Slug IS NOT NULL AND (getvariable('slugs') IS NULL OR list_contains(getvariable('slugs'), Slug))
),
forum_counts AS (
  SELECT c.Id, count(DISTINCT t.Id) AS topics, count(m.Id) AS messages, min(t.CreationDate) AS first
  FROM chosen AS c
  JOIN ForumTopics AS t ON t.ForumId = c.ForumId AND t.CreationDate < c.DeadlineDate AND t.KernelId IS NULL
  LEFT JOIN ForumMessages AS m ON m.ForumTopicId = t.Id AND m.PostDate < c.DeadlineDate
  GROUP BY c.Id
),
kernel_counts AS (
  SELECT c.Id, count(DISTINCT v.ScriptId) AS kernels, min(v.CreationDate) AS first
  FROM chosen AS c
  JOIN KernelVersionCompetitionSources AS s ON s.SourceCompetitionId = c.Id
  JOIN KernelVersions AS v ON v.Id = s.KernelVersionId AND v.VersionNumber IS NOT NULL AND v.CreationDate < c.DeadlineDate
  JOIN Kernels AS k ON k.Id = v.ScriptId AND k.MadePublicDate <= c.DeadlineDate
  GROUP BY c.Id
),
team_counts AS (
  SELECT CompetitionId AS Id, count(*) AS teams FROM Teams WHERE NOT coalesce(IsBenchmark, false) GROUP BY CompetitionId
)
SELECT
  c.Id AS id,
  c.Slug AS slug,
  c.Title AS title,
  c.ForumId AS forum_id,
  -- Kaggle began in 2010: an earlier date is a mistake, and the first post stands in for it.
  CASE WHEN c.EnabledDate >= TIMESTAMP '2010-01-01' THEN c.EnabledDate ELSE least(f.first, k.first) END AS enabled_at,
  c.DeadlineDate AS deadline,
  c.EvaluationAlgorithmName AS metric,
  c.EvaluationAlgorithmIsMax AS is_max,
  c.MaxDailySubmissions AS max_daily_submissions,
  coalesce(f.topics, 0) AS topics,
  coalesce(f.messages, 0) AS messages,
  coalesce(k.kernels, 0) AS kernels,
  coalesce(t.teams, 0) AS teams,
  CASE
    WHEN c.DeadlineDate IS NULL THEN 'it has no deadline'
    WHEN c.DeadlineDate > getvariable('exported') THEN 'it was still running when the tables were exported'
    WHEN c.DeadlineDate <= c.EnabledDate THEN 'its deadline is before its start'
    WHEN c.EvaluationAlgorithmIsMax IS NULL THEN 'it is unknown whether higher scores are better'
    WHEN f.Id IS NULL AND k.Id IS NULL THEN 'it has no topics or notebooks from before its deadline'
  END AS obstacle
FROM chosen AS c
LEFT JOIN forum_counts AS f USING (Id)
LEFT JOIN kernel_counts AS k USING (Id)
LEFT JOIN team_counts AS t USING (Id);
