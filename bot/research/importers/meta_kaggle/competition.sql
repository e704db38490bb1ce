-- What the public could see of one competition, and from when.
--
-- Variables: `competition` and `forum` (ids), `slug`, `is_max`; `start`, before which nothing is shown, and `exported`, after
-- which nothing is believed. Tables with capital letters are Meta Kaggle's; those in small letters are made here, and their
-- `known_at` is when a row became known. The views at the end have the fields of a snapshot's files.
--
-- The rule: nothing counts before what it belongs to, and what has no date is left out, which the view `left_out` counts.
-- Columns of Meta Kaggle that have a date alone are the midnight after it here: the time of day is not known.

-- Null if either is unknown, unlike greatest().
CREATE OR REPLACE MACRO later(a, b) AS CASE WHEN a >= b THEN a WHEN b > a THEN b END;

-- Some submissions have an infinite score, or the largest number that there is.
CREATE OR REPLACE MACRO is_score(number) AS abs(number) < 1e300;

CREATE OR REPLACE MACRO iso(moment) AS strftime(moment, '%Y-%m-%dT%H:%M:%SZ');


-- Notebooks. A version with a number was committed; one without was an interactive session, which nobody else saw.

CREATE OR REPLACE TEMP TABLE committed_versions AS
SELECT *
FROM KernelVersions
WHERE VersionNumber IS NOT NULL
  AND Id IN (SELECT KernelVersionId FROM KernelVersionCompetitionSources WHERE SourceCompetitionId = getvariable('competition'));

-- A notebook counts from when it is public and has a version that uses the competition's data.
CREATE OR REPLACE TEMP TABLE public_kernels AS
SELECT
  k.Id AS id,
  k.ForumTopicId AS topic_id,
  k.ForkParentKernelVersionId AS forked_version_id,
  later(later(k.MadePublicDate, min(v.CreationDate)), getvariable('start')) AS known_at
FROM Kernels AS k
JOIN committed_versions AS v ON v.ScriptId = k.Id
WHERE k.MadePublicDate IS NOT NULL
GROUP BY k.Id, k.ForumTopicId, k.ForkParentKernelVersionId, k.MadePublicDate;

CREATE OR REPLACE TEMP TABLE versions AS
SELECT
  v.Id AS id,
  k.id AS kernel_id,
  v.VersionNumber AS version,
  v.Title AS title,
  v.ScriptLanguageId AS language_id,
  v.AuthorUserId AS user_id,
  later(v.CreationDate, k.known_at) AS known_at
FROM committed_versions AS v
JOIN public_kernels AS k ON k.id = v.ScriptId
WHERE later(v.CreationDate, k.known_at) <= getvariable('exported');

-- The notebook that another was forked from, if it and the version were there by the time of the fork's version.
CREATE OR REPLACE TEMP TABLE forks AS
SELECT v.id, parent.kernel_id AS parent_id
FROM versions AS v
JOIN public_kernels AS k ON k.id = v.kernel_id
JOIN KernelVersions AS forked ON forked.Id = k.forked_version_id
JOIN (SELECT kernel_id, min(known_at) AS known_at FROM versions GROUP BY ALL) AS parent ON parent.kernel_id = forked.ScriptId
WHERE parent.known_at <= v.known_at
  AND forked.CreationDate <= v.known_at
  AND parent.kernel_id <> v.kernel_id;


-- Topics: those of the competition's forum, and the comments on its public notebooks.

CREATE OR REPLACE TEMP TABLE topics AS
SELECT Id AS id, NULL AS kernel_id, FirstForumMessageId AS first_message_id, later(CreationDate, getvariable('start')) AS known_at
FROM ForumTopics
WHERE ForumId = getvariable('forum')
  AND KernelId IS NULL
  AND Id NOT IN (SELECT ForumTopicId FROM Kernels WHERE ForumTopicId IS NOT NULL)
UNION ALL
SELECT t.Id, k.id, t.FirstForumMessageId, later(t.CreationDate, k.known_at)
FROM ForumTopics AS t
JOIN public_kernels AS k ON k.topic_id = t.Id
QUALIFY row_number() OVER (PARTITION BY t.Id ORDER BY k.known_at, k.id) = 1;

CREATE OR REPLACE TEMP TABLE messages AS
SELECT
  m.Id AS id,
  t.id AS topic_id,
  m.PostUserId AS user_id,
  m.ReplyToForumMessageId AS parent_id,
  nullif(m.RawMarkdown, '') AS markdown,
  nullif(m.Message, '') AS html,
  later(m.PostDate, t.known_at) AS known_at
FROM ForumMessages AS m
JOIN topics AS t ON t.id = m.ForumTopicId
WHERE coalesce(nullif(m.RawMarkdown, ''), nullif(m.Message, '')) IS NOT NULL
  AND later(m.PostDate, t.known_at) <= getvariable('exported');

-- A topic appears with its first message that can be dated, and has its author and votes if that is the one which opened it.
CREATE OR REPLACE TEMP TABLE openings AS
SELECT
  t.id,
  t.kernel_id,
  min(m.known_at) AS known_at,
  CASE WHEN arg_min(m.id, (m.known_at, m.id)) = t.first_message_id THEN t.first_message_id END AS message_id
FROM topics AS t
JOIN messages AS m ON m.topic_id = t.id
GROUP BY t.id, t.kernel_id, t.first_message_id;

-- The export has each text as it was last edited, without the day. One that links to a topic, message or version of a
-- notebook that is later than itself was edited after that.
CREATE OR REPLACE TEMP TABLE edits AS
WITH texts AS (
  SELECT id, known_at, coalesce(markdown, html) AS text FROM messages
),
links AS (
  SELECT *, 'topic' AS target, unnest(regexp_extract_all(text, '/(?:discussions?(?:/[a-z-]{1,50})?|forums/t)/(\d{1,15})', 1)) AS linked
  FROM texts
  UNION ALL
  SELECT *, 'message', unnest(regexp_extract_all(text, '/discussions?/[\w/?=&-]{1,200}#(?:post)?(\d{1,15})', 1)) FROM texts
  UNION ALL
  SELECT *, 'version', unnest(regexp_extract_all(text, 'scriptVersionId=(\d{1,15})', 1)) FROM texts
),
targets AS (
  SELECT 'topic' AS target, Id AS id, CreationDate AS known_at FROM ForumTopics
  UNION ALL
  SELECT 'message', Id, PostDate FROM ForumMessages
  UNION ALL
  SELECT 'version', Id, CreationDate FROM KernelVersions
)
SELECT l.id, max(t.known_at) AS known_at
FROM links AS l
JOIN targets AS t ON t.target = l.target AND t.id = CAST(l.linked AS BIGINT)
WHERE t.known_at > l.known_at
  AND t.known_at <= getvariable('exported')
GROUP BY l.id;


-- Authors become numbers, in the order in which they appeared.

CREATE OR REPLACE TEMP TABLE authors AS
SELECT user_id, row_number() OVER (ORDER BY min(known_at), user_id) AS number, min(known_at) AS known_at
FROM (SELECT user_id, known_at FROM messages UNION ALL SELECT user_id, known_at FROM versions)
WHERE user_id > 0
GROUP BY user_id;

-- People whose names must not stay in texts: authors and members of teams.
CREATE OR REPLACE TEMP VIEW participants AS
SELECT a.number, u.UserName AS handle, u.DisplayName AS name, coalesce(iso(a.known_at), '') AS known_at
FROM Users AS u
LEFT JOIN authors AS a ON a.user_id = u.Id
WHERE a.number IS NOT NULL
   OR u.Id IN (
     SELECT m.UserId FROM TeamMemberships AS m JOIN Teams AS t ON t.Id = m.TeamId WHERE t.CompetitionId = getvariable('competition')
   );

-- An author's highest tier, from the day after it was reached. On three days Kaggle re-dated millions of tiers: these are left out.
CREATE OR REPLACE TEMP TABLE tiers AS
WITH highest AS (
  SELECT *
  FROM UserAchievements
  WHERE UserId IN (SELECT user_id FROM authors)
  QUALIFY Tier = max(Tier) OVER (PARTITION BY UserId)
)
SELECT UserId AS user_id, any_value(Tier) AS tier, min(TierAchievementDate) AS known_at
FROM highest
WHERE TierAchievementDate NOT IN (TIMESTAMP '2016-07-16', TIMESTAMP '2018-09-07', TIMESTAMP '2025-07-08')
GROUP BY UserId;


-- Votes, each person's once; a sum over those known by a time is the count at that time.

CREATE OR REPLACE TEMP TABLE message_votes AS
WITH votes AS (
  SELECT m.id, later(min(v.VoteDate), m.known_at) AS known_at
  FROM ForumMessageVotes AS v
  JOIN messages AS m ON m.id = v.ForumMessageId
  WHERE v.FromUserId > 0
    AND v.VoteDate IS NOT NULL
  GROUP BY m.id, m.known_at, v.FromUserId
)
SELECT id, known_at, CAST(sum(count(*)) OVER (PARTITION BY id ORDER BY known_at) AS INTEGER) AS votes
FROM votes
GROUP BY id, known_at
UNION ALL
SELECT id, known_at, 0
FROM messages
WHERE EXISTS (FROM ForumMessageVotes);

-- A notebook's votes are those of all its versions. Each version has them until the next one replaces it.
CREATE OR REPLACE TEMP TABLE version_votes AS
WITH votes AS (
  SELECT k.id, later(min(w.VoteDate), k.known_at) AS known_at
  FROM KernelVotes AS w
  JOIN KernelVersions AS v ON v.Id = w.KernelVersionId
  JOIN public_kernels AS k ON k.id = v.ScriptId
  WHERE w.UserId > 0
    AND w.VoteDate >= v.CreationDate
  GROUP BY k.id, k.known_at, w.UserId
),
totals AS (
  SELECT id, known_at, CAST(sum(count(*)) OVER (PARTITION BY id ORDER BY known_at) AS INTEGER) AS votes
  FROM votes
  GROUP BY id, known_at
),
spans AS (
  SELECT id, kernel_id, known_at, lead(known_at) OVER (PARTITION BY kernel_id ORDER BY known_at, version, id) AS replaced_at
  FROM versions
)
SELECT s.id, greatest(s.known_at, t.known_at) AS known_at, max(t.votes) AS votes
FROM spans AS s
JOIN totals AS t ON t.id = s.kernel_id AND (t.known_at <= s.known_at OR s.replaced_at IS NULL OR t.known_at < s.replaced_at)
GROUP BY ALL
UNION ALL
SELECT id, known_at, 0
FROM versions
WHERE EXISTS (FROM KernelVotes);


-- Submissions in time, of teams that are no benchmarks. A score counts when both its dates have passed.

CREATE OR REPLACE TEMP TABLE scored_submissions AS
SELECT
  s.Id AS id,
  s.TeamId AS team_id,
  s.SourceKernelVersionId AS version_id,
  greatest(s.SubmissionDate, s.ScoreDate) AS known_at,
  coalesce(s.PublicScoreLeaderboardDisplay, s.PublicScoreFullPrecision) AS public_score,
  coalesce(s.PrivateScoreLeaderboardDisplay, s.PrivateScoreFullPrecision) AS private_score,
  coalesce(s.IsAfterDeadline, false) AS is_late
FROM Submissions AS s
JOIN Teams AS t ON t.Id = s.TeamId
WHERE t.CompetitionId = getvariable('competition')
  AND NOT coalesce(t.IsBenchmark, false)
  AND s.SubmissionDate IS NOT NULL
  AND s.UnreadableDates = 0;

-- Each line is a team's new best public score: those up to a time are the public leaderboard of that time.
CREATE OR REPLACE TEMP TABLE public_bests AS
WITH scores AS (
  SELECT team_id, later(known_at, getvariable('start')) AS known_at, CASE WHEN getvariable('is_max') THEN max(public_score) ELSE min(public_score) END AS score
  FROM scored_submissions
  WHERE NOT is_late
    AND is_score(public_score)
    AND known_at <= getvariable('exported')
  GROUP BY ALL
),
earlier AS (
  SELECT *, CASE WHEN getvariable('is_max') THEN max(score) OVER before ELSE min(score) OVER before END AS best_before
  FROM scores
  WINDOW before AS (PARTITION BY team_id ORDER BY known_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT team_id, known_at, score
FROM earlier
WHERE best_before IS NULL
   OR CASE WHEN getvariable('is_max') THEN score > best_before ELSE score < best_before END;


-- The rows of a snapshot. Titles of topics, votes, scores and tiers of the day of the export are null: they have no date.

CREATE OR REPLACE TEMP VIEW topic_rows AS
SELECT
  o.id,
  NULL AS title,
  CAST(a.number AS VARCHAR) AS author,
  NULL AS tier,
  iso(o.known_at) AS posted_at,
  NULL AS votes,
  CASE WHEN o.kernel_id IS NULL THEN format('https://www.kaggle.com/competitions/{}/discussion/{}', getvariable('slug'), o.id) END AS url,
  'Meta Kaggle' || coalesce(format(': comments on the notebook meta-kaggle/{}', o.kernel_id), '') AS source
FROM openings AS o
LEFT JOIN messages AS m ON m.id = o.message_id
LEFT JOIN authors AS a USING (user_id)
ORDER BY o.known_at, o.id;

CREATE OR REPLACE TEMP VIEW message_rows AS
SELECT
  m.id,
  m.topic_id,
  parent.id AS parent_id,
  CAST(a.number AS VARCHAR) AS author,
  NULL AS tier,
  iso(m.known_at) AS posted_at,
  iso(e.known_at) AS edited_at,
  NULL AS votes,
  m.markdown,
  false AS deleted,
  'Meta Kaggle: the text as it was last edited, on a day that is not known' AS source,
  m.html
FROM messages AS m
LEFT JOIN authors AS a USING (user_id)
LEFT JOIN edits AS e ON e.id = m.id
LEFT JOIN messages AS parent
  ON parent.id = m.parent_id AND parent.topic_id = m.topic_id AND parent.known_at <= m.known_at AND parent.id <> m.id
ORDER BY m.known_at, m.id;

CREATE OR REPLACE TEMP VIEW kernel_rows AS
SELECT
  v.id,
  format('meta-kaggle/{}', v.kernel_id) AS ref,
  v.version,
  v.title,
  CAST(a.number AS VARCHAR) AS author,
  NULL AS tier,
  iso(v.known_at) AS created_at,
  NULL AS votes,
  NULL AS public_score,
  CASE WHEN v.language_id IN (1, 5, 12, 13) THEN 'r' WHEN v.language_id IN (2, 8, 9, 14) THEN 'python' END AS language,
  CASE WHEN v.language_id IN (8, 9, 12, 13) THEN 'notebook' WHEN v.language_id IN (1, 2, 5, 14) THEN 'script' END AS kind,
  NULL AS datasets,
  format('meta-kaggle/{}', f.parent_id) AS parent_ref,
  NULL AS path,
  'Meta Kaggle' AS source
FROM versions AS v
LEFT JOIN authors AS a USING (user_id)
LEFT JOIN forks AS f ON f.id = v.id
ORDER BY v.known_at, v.version, v.id;

CREATE OR REPLACE TEMP VIEW observation_rows AS
WITH posts AS (
  SELECT 'message' AS target, id, user_id, known_at FROM messages
  UNION ALL
  SELECT 'topic', o.id, m.user_id, o.known_at FROM openings AS o JOIN messages AS m ON m.id = o.message_id
  UNION ALL
  SELECT 'kernel', id, user_id, known_at FROM versions
),
readings AS (
  SELECT 'message' AS target, id, known_at, votes, NULL AS public_score, NULL AS tier FROM message_votes
  UNION ALL
  SELECT 'topic', o.id, v.known_at, v.votes, NULL, NULL FROM openings AS o JOIN message_votes AS v ON v.id = o.message_id
  UNION ALL
  SELECT 'kernel', id, known_at, votes, NULL, NULL FROM version_votes
  UNION ALL
  -- A version's first score: the others came of submitting it again.
  SELECT 'kernel', v.id, later(min(s.known_at), v.known_at), NULL, arg_min(s.public_score, (s.known_at, s.id)), NULL
  FROM scored_submissions AS s
  JOIN versions AS v ON v.id = s.version_id
  WHERE is_score(s.public_score)
  GROUP BY v.id, v.known_at
  UNION ALL
  SELECT p.target, p.id, later(t.known_at, p.known_at), NULL, NULL,
    CASE t.tier WHEN 2 THEN 'EXPERT' WHEN 3 THEN 'MASTER' WHEN 4 THEN 'GRANDMASTER' WHEN 5 THEN 'STAFF' END
  FROM posts AS p
  JOIN tiers AS t USING (user_id)
)
SELECT target, id, iso(known_at) AS "at", max(votes) AS votes, max(public_score) AS public_score, max(tier) AS tier
FROM readings
WHERE known_at <= getvariable('exported')
GROUP BY target, id, known_at
ORDER BY known_at, target, id;

CREATE OR REPLACE TEMP VIEW public_leaderboard_rows AS
WITH teams AS (
  SELECT team_id, row_number() OVER (ORDER BY min(known_at), team_id) AS number FROM public_bests GROUP BY team_id
)
SELECT iso(b.known_at) AS "at", t.number AS team, b.score
FROM public_bests AS b
JOIN teams AS t USING (team_id)
ORDER BY b.known_at, t.number;

CREATE OR REPLACE TEMP VIEW leaderboard_rows AS
SELECT s.private_score AS score, iso(s.known_at) AS submitted_at
FROM scored_submissions AS s
JOIN Teams AS t ON t.PrivateLeaderboardSubmissionId = s.id
WHERE is_score(s.private_score)
ORDER BY CASE WHEN getvariable('is_max') THEN -s.private_score ELSE s.private_score END, t.PrivateLeaderboardRank, s.id;

CREATE OR REPLACE TEMP VIEW left_out AS
FROM (
  SELECT 'notebooks that are private or have no publication date' AS reason, count(*) AS count
  FROM (SELECT DISTINCT ScriptId FROM committed_versions WHERE ScriptId NOT IN (SELECT id FROM public_kernels))
  UNION ALL
  SELECT 'versions without a date, or dated after the export', count(*)
  FROM committed_versions
  WHERE ScriptId IN (SELECT id FROM public_kernels) AND Id NOT IN (SELECT id FROM versions)
  UNION ALL
  SELECT 'topics about a notebook that is not public', count(*)
  FROM ForumTopics
  WHERE ForumId = getvariable('forum') AND Id NOT IN (SELECT id FROM topics)
  UNION ALL
  SELECT 'topics without a message that has a date', count(*) FROM topics WHERE id NOT IN (SELECT topic_id FROM messages)
  UNION ALL
  SELECT 'messages that are empty, have no date, or are dated after the export', count(*)
  FROM ForumMessages
  WHERE ForumTopicId IN (SELECT id FROM topics) AND Id NOT IN (SELECT id FROM messages)
  UNION ALL
  SELECT 'votes on messages without a date or a voter', count(*)
  FROM ForumMessageVotes
  WHERE ForumMessageId IN (SELECT id FROM messages) AND (VoteDate IS NULL OR coalesce(FromUserId, -1) <= 0)
  UNION ALL
  SELECT 'votes on notebooks without a voter, or not dated after the version', count(*)
  FROM KernelVotes AS w
  JOIN committed_versions AS v ON v.Id = w.KernelVersionId
  WHERE NOT coalesce(w.VoteDate >= v.CreationDate AND w.UserId > 0, false)
  UNION ALL
  SELECT 'authors whose tier has no date, or only that of a bulk update', count(DISTINCT UserId)
  FROM UserAchievements
  WHERE UserId IN (SELECT user_id FROM authors) AND UserId NOT IN (SELECT user_id FROM tiers)
)
WHERE count > 0
ORDER BY reason;
