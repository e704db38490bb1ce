"""0001: every table as first released."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    _create_community()
    _create_knowledge()
    _create_search()
    _create_executions()
    _create_spending()
    _create_log()


def downgrade() -> None:
    """Drop them all."""
    for table in (
        "analysis",
        "blob",
        "draft",
        "evaluation",
        "event",
        "execution",
        "idea",
        "ideause",
        "kernelversion",
        "ledgerentry",
        "message",
        "modelcall",
        "node",
        "observation",
        "report",
        "run",
        "step",
        "submission",
        "topic",
    ):
        op.drop_table(table)


def _create_community() -> None:
    """Create the forum, the kernels and how their votes and scores stood."""
    op.create_table(
        "topic",
        sa.Column("competition", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("author", sa.String()),
        sa.Column("tier", sa.String()),
        sa.Column("posted_at", sa.DateTime()),
        sa.Column("votes", sa.Integer()),
        sa.Column("url", sa.String()),
        sa.PrimaryKeyConstraint("competition", "id"),
    )
    op.create_table(
        "message",
        sa.Column("competition", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("topic_id", sa.String(), nullable=False),
        sa.Column("parent_id", sa.String()),
        sa.Column("author", sa.String()),
        sa.Column("tier", sa.String()),
        sa.Column("posted_at", sa.DateTime()),
        sa.Column("edited_at", sa.DateTime()),
        sa.Column("votes", sa.Integer()),
        sa.Column("markdown", sa.String(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("competition", "id"),
    )
    op.create_index("ix_message_topic_id", "message", ["topic_id"])
    op.create_table(
        "kernelversion",
        sa.Column("competition", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("version", sa.Integer()),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("author", sa.String()),
        sa.Column("tier", sa.String()),
        sa.Column("created_at", sa.DateTime()),
        sa.Column("votes", sa.Integer()),
        sa.Column("public_score", sa.Float()),
        sa.Column("language", sa.String()),
        sa.Column("kind", sa.String()),
        sa.Column("datasets", sa.JSON(), nullable=False),
        sa.Column("parent_ref", sa.String()),
        sa.Column("path", sa.String()),
        sa.Column("url", sa.String()),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("raw_sha", sa.String()),
        sa.PrimaryKeyConstraint("competition", "id"),
    )
    op.create_index("ix_kernelversion_ref", "kernelversion", ["ref"])
    op.create_table(
        "observation",
        sa.Column("pk", sa.Integer(), nullable=False),
        sa.Column("competition", sa.String(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("target_id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("votes", sa.Integer()),
        sa.Column("public_score", sa.Float()),
        sa.Column("tier", sa.String()),
        sa.PrimaryKeyConstraint("pk"),
    )
    op.create_index("ix_observation_target", "observation", ["competition", "target", "target_id", "at"])


def _create_knowledge() -> None:
    """Create what is derived from posts and runs."""
    op.create_table(
        "analysis",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("post_kind", sa.String(), nullable=False),
        sa.Column("post_id", sa.String(), nullable=False),
        sa.Column("summary", sa.String(), nullable=False),
        sa.Column("suggestions", sa.JSON(), nullable=False),
        sa.Column("code_abstract", sa.String(), nullable=False),
        sa.Column("resources", sa.JSON(), nullable=False),
        sa.Column("novelty", sa.Float(), nullable=False),
        sa.Column("feasibility", sa.Float(), nullable=False),
        sa.Column("effectiveness", sa.Float(), nullable=False),
        sa.Column("efficiency", sa.Float(), nullable=False),
        sa.Column("known_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "id"),
    )
    op.create_table(
        "idea",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("known_at", sa.DateTime(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "id"),
    )
    op.create_table(
        "ideause",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("idea_id", sa.Integer(), nullable=False),
        sa.Column("draft_id", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "idea_id", "draft_id"),
    )
    op.create_table(
        "draft",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("idea_ids", sa.JSON(), nullable=False),
        sa.Column("codebase_report", sa.String()),
        sa.Column("novel", sa.Boolean(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("known_at", sa.DateTime(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "id"),
    )
    op.create_table(
        "report",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("draft_id", sa.String()),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("method", sa.String(), nullable=False),
        sa.Column("components", sa.JSON(), nullable=False),
        sa.Column("numbers", sa.String(), nullable=False),
        sa.Column("limitations", sa.String(), nullable=False),
        sa.Column("next_steps", sa.String(), nullable=False),
        sa.Column("best_node", sa.Integer()),
        sa.Column("score", sa.Float()),
        sa.Column("known_at", sa.DateTime(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "id"),
    )


def _create_search() -> None:
    """Create the run and its tree."""
    op.create_table(
        "run",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("competition", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("cutoff", sa.DateTime()),
        sa.Column("signals", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "node",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("parents", sa.JSON(), nullable=False),
        sa.Column("draft_id", sa.String()),
        sa.Column("plan", sa.String(), nullable=False),
        sa.Column("code_sha", sa.String()),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("score", sa.Float()),
        sa.Column("error", sa.String()),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("ended_at", sa.DateTime()),
        sa.Column("seconds", sa.Float()),
        sa.Column("model", sa.String()),
        sa.PrimaryKeyConstraint("run_id", "id"),
    )


def _create_executions() -> None:
    """Create what nodes did and what came of it."""
    op.create_table(
        "execution",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("view", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String()),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("seconds", sa.Float()),
        sa.Column("cpu_seconds", sa.Float()),
        sa.Column("peak_memory_bytes", sa.Integer()),
        sa.Column("log_sha", sa.String()),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("ended_at", sa.DateTime()),
        sa.PrimaryKeyConstraint("run_id", "id"),
    )
    op.create_index("ix_execution_node", "execution", ["node"])
    op.create_table(
        "evaluation",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("execution_id", sa.String(), nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("view", sa.String(), nullable=False),
        sa.Column("score", sa.Float()),
        sa.Column("valid", sa.Boolean(), nullable=False),
        sa.Column("message", sa.String()),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "execution_id"),
    )
    op.create_table(
        "submission",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("tag", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("handed_in", sa.String(), nullable=False),
        sa.Column("score", sa.Float()),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "id"),
    )


def _create_spending() -> None:
    """Create what was spent and asked."""
    op.create_table(
        "ledgerentry",
        sa.Column("pk", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("node", sa.Integer()),
        sa.Column("role", sa.String()),
        sa.Column("model", sa.String()),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float()),
        sa.Column("seconds", sa.Float()),
        sa.PrimaryKeyConstraint("pk"),
    )
    op.create_index("ix_ledgerentry_run_id", "ledgerentry", ["run_id"])
    op.create_table(
        "modelcall",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("prompt_name", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("as_of", sa.DateTime(), nullable=False),
        sa.Column("items", sa.JSON(), nullable=False),
        sa.Column("messages_sha", sa.String(), nullable=False),
        sa.Column("answer_sha", sa.String(), nullable=False),
        sa.Column("prompt_hash", sa.String(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float()),
        sa.Column("node", sa.Integer()),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "seq"),
    )


def _create_log() -> None:
    """Create steps, events and bodies."""
    op.create_table(
        "step",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("result", sa.JSON()),
        sa.Column("prompt_hash", sa.String()),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("ended_at", sa.DateTime()),
        sa.PrimaryKeyConstraint("run_id", "node", "name", "attempt"),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("node", sa.Integer()),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run_id", "seq", name="uq_event_seq"),
    )
    op.create_table(
        "blob",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256"),
    )
