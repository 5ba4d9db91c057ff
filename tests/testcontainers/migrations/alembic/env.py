"""Alembic's way to the server on PORT."""

import os

import sqlalchemy
from alembic import context

engine = sqlalchemy.create_engine(sqlalchemy.URL.create("mssql+pymssql", "sa", os.environ["PASSWORD"], "127.0.0.1", int(os.environ["PORT"]), "master"))
with engine.connect() as connection:
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()
