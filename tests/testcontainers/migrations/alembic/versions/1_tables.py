"""Tables with keys, defaults and an index."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "1", None


def upgrade():
    op.create_table(
        "alembic_customers",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Unicode(50), nullable=False, unique=True),
        sa.Column("at", sa.DateTime, server_default=sa.func.getdate()),
    )
    op.create_table(
        "alembic_orders",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("customer", sa.Integer, sa.ForeignKey("alembic_customers.id")),
        sa.Column("total", sa.Numeric(9, 2), server_default="0"),
    )
    op.create_index("ix_alembic", "alembic_orders", ["customer"], mssql_include=["total"])


def downgrade():
    op.drop_table("alembic_orders")
    op.drop_table("alembic_customers")
