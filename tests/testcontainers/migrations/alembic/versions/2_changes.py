"""Columns that come, change, are renamed and go."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "2", "1"


def upgrade():
    op.add_column("alembic_orders", sa.Column("note", sa.UnicodeText))
    op.drop_index("ix_alembic", "alembic_orders")
    op.alter_column("alembic_orders", "total", type_=sa.Numeric(12, 4), existing_type=sa.Numeric(9, 2), existing_nullable=True, server_default="1", existing_server_default="0")
    op.create_check_constraint("ck_alembic", "alembic_orders", "total >= 0")
    op.alter_column("alembic_customers", "name", new_column_name="full_name", existing_type=sa.Unicode(50))
    op.drop_column("alembic_customers", "at", mssql_drop_default=True)
    op.execute("INSERT alembic_customers (full_name) VALUES (N'Bö')")


def downgrade():
    op.execute("DELETE alembic_customers")
    op.add_column("alembic_customers", sa.Column("at", sa.DateTime, server_default=sa.func.getdate()))
    op.alter_column("alembic_customers", "full_name", new_column_name="name", existing_type=sa.Unicode(50))
    op.drop_constraint("ck_alembic", "alembic_orders", type_="check")
    op.create_index("ix_alembic", "alembic_orders", ["customer"], mssql_include=["total"])
    op.drop_column("alembic_orders", "note")
