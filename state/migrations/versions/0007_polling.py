"""0007: what is read from a site again and again."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the columns and the tables."""
    for table, columns in _added().items():
        for column in columns:
            op.add_column(table, column)
    _create_marks()
    _create_polled()
    _create_readings()


def downgrade() -> None:
    """Take them away."""
    for table in ("reading", "author", "polledkernel", "polledtopic", "watermark", "requestcount"):
        op.drop_table(table)
    for table, columns in _added().items():
        with op.batch_alter_table(table) as altered:
            for column in columns:
                altered.drop_column(column.name)


def _added() -> dict[str, list[sa.Column[Any]]]:
    """Return the new columns of each table."""
    return {
        "topic": [
            sa.Column("sticky", sa.Boolean(), nullable=False, server_default=sa.false()),
            sa.Column("deleted", sa.Boolean(), nullable=False, server_default=sa.false()),
            sa.Column("first_seen_at", sa.DateTime()),
        ],
        "message": [
            sa.Column("first_seen_at", sa.DateTime()),
            sa.Column("html_sha", sa.String()),
            sa.Column("markdown_sha", sa.String()),
        ],
        "kernelversion": [sa.Column("first_seen_at", sa.DateTime())],
        "observation": [sa.Column("served_at", sa.DateTime())],
    }


def _create_marks() -> None:
    op.create_table(
        "requestcount",
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("family", sa.String(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("day", "family"),
    )
    op.create_table(
        "watermark",
        sa.Column("competition", sa.String(), nullable=False),
        sa.Column("part", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime()),
        sa.Column("served_at", sa.DateTime()),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("tried_at", sa.DateTime()),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("refused", sa.Boolean(), nullable=False),
        sa.Column("error", sa.String()),
        sa.PrimaryKeyConstraint("competition", "part"),
    )


def _create_polled() -> None:
    op.create_table(
        "polledtopic",
        sa.Column("competition", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("last_comment_at", sa.DateTime()),
        sa.Column("comment_count", sa.Integer(), nullable=False),
        sa.Column("read_last_comment_at", sa.DateTime()),
        sa.Column("read_comment_count", sa.Integer()),
        sa.Column("read_at", sa.DateTime()),
        sa.Column("opening_id", sa.String()),
        sa.Column("opening_apart", sa.Boolean(), nullable=False),
        sa.Column("tried_at", sa.DateTime()),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("competition", "id"),
    )
    op.create_table(
        "polledkernel",
        sa.Column("competition", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("last_run_at", sa.DateTime()),
        sa.Column("number", sa.Integer()),
        sa.Column("read_last_run_at", sa.DateTime()),
        sa.Column("read_number", sa.Integer()),
        sa.Column("read_at", sa.DateTime()),
        sa.Column("current_id", sa.String()),
        sa.Column("first_number", sa.Integer()),
        sa.Column("gone_at", sa.DateTime()),
        sa.Column("tried_at", sa.DateTime()),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("competition", "id"),
    )
    op.create_index("ix_polledkernel_ref", "polledkernel", ["ref"])


def _create_readings() -> None:
    op.create_table(
        "author",
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("user_name", sa.String(), nullable=False),
        sa.Column("display_name", sa.String(), nullable=False),
        sa.Column("tier", sa.String()),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("user_id"),
    )
    op.create_index("ix_author_display_name", "author", ["display_name"])
    op.create_table(
        "reading",
        sa.Column("pk", sa.Integer(), nullable=False),
        sa.Column("competition", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("served_at", sa.DateTime()),
        sa.Column("sha256", sa.String()),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("pk"),
    )
    op.create_index("ix_reading_what", "reading", ["competition", "kind", "name", "at"])
