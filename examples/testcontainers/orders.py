#!/usr/bin/env python3
"""A database of its own for a test, by testcontainers for Python: only the image's name is another.

    pip install 'testcontainers[mssql]' pymssql sqlalchemy
    docker load -i vlflab-0.1.0-mssql.tar
    examples/testcontainers/orders.py
"""

import os

import sqlalchemy
from testcontainers.community.mssql import SqlServerContainer

IMAGE = os.environ.get("VLFLAB_IMAGE", "vlflab-mssql:0.1.0")


def main():
    with SqlServerContainer(IMAGE) as server:
        engine = sqlalchemy.create_engine(server.get_connection_url())
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text("CREATE TABLE orders (id int IDENTITY PRIMARY KEY, customer nvarchar(50), total decimal(9, 2))"))
            connection.execute(
                sqlalchemy.text("INSERT orders (customer, total) VALUES (:customer, :total)"),
                [{"customer": "Ana", "total": 10}, {"customer": "Bö", "total": 32.5}],
            )
        with engine.connect() as connection:
            total = connection.execute(sqlalchemy.text("SELECT SUM(total) FROM orders")).scalar_one()
    assert total == 42.5, total
    print(f"orders: {total}")


if __name__ == "__main__":
    main()
