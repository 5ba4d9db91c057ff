"""SQLAlchemy through three drivers: what it asks on connecting, its ORM, its reflection and its pool."""

import datetime
import decimal
import os
import sys
import urllib.parse

from sqlalchemy import (
    DateTime,
    ForeignKey,
    Numeric,
    Unicode,
    create_engine,
    event,
    exc,
    func,
    inspect,
    select,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from harness import ENCRYPT, FAILED_COMMIT, Report, equal

PORT = os.environ["VLFLAB_PORT"]
PASSWORD = os.environ["VLFLAB_PASSWORD"]
DRIVER = sys.argv[1]
NAME = f"sqlalchemy-{DRIVER}"


def address():
    if DRIVER == "pymssql":
        password = urllib.parse.quote(PASSWORD)
        return f"mssql+pymssql://sa:{password}@127.0.0.1:{PORT}/clients" + ("?encryption=require" if ENCRYPT else "")
    from database_api import Pyodbc

    return "mssql+pyodbc:///?odbc_connect=" + urllib.parse.quote(Pyodbc(DRIVER).text(PASSWORD))


def engine(**options):
    return create_engine(address(), **options)


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "alchemy_customer"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(Unicode(50), index=True)
    notes: Mapped[str | None]
    orders: Mapped[list["Order"]] = relationship(back_populates="customer")


class Order(Base):
    __tablename__ = "alchemy_order"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[int] = mapped_column(ForeignKey("alchemy_customer.id"))
    amount: Mapped[decimal.Decimal] = mapped_column(Numeric(12, 2))
    placed: Mapped[datetime.datetime] = mapped_column(DateTime, server_default=func.getdate())
    customer: Mapped[Customer] = relationship(back_populates="orders")


def connects():
    with engine().connect() as connection:
        equal(connection.scalar(text("select db_name()")), "clients")
        equal(connection.dialect.default_schema_name, "dbo")
        equal(connection.get_isolation_level(), "READ COMMITTED")


def maps_objects():
    own = engine()
    Base.metadata.drop_all(own)
    Base.metadata.create_all(own)
    with Session(own) as session:
        orders = [Order(amount=decimal.Decimal(f"{row}.25")) for row in range(300)]
        session.add(Customer(name="te\u4e2dxt", notes="m" * 2000, orders=orders))
        session.commit()
    with Session(own) as session:
        query = select(Customer.name, func.count(), func.sum(Order.amount)).join(Customer.orders).group_by(Customer.name)
        equal([tuple(row) for row in session.execute(query)], [("te\u4e2dxt", 300, decimal.Decimal("44925.00"))])
        page = select(Order.id).order_by(Order.id.desc()).limit(3).offset(2)
        equal(list(session.scalars(page)), [298, 297, 296])
        customer = session.scalars(select(Customer)).one()
        equal((len(customer.notes), customer.orders[0].placed.year > 2000), (2000, True))
        customer.name = "other"
        session.rollback()
        equal(customer.name, "te\u4e2dxt")


def reflects():
    found = inspect(engine())
    tables = [name for name in found.get_table_names() if name.startswith("alchemy_")]
    equal(sorted(tables), ["alchemy_customer", "alchemy_order"])
    equal([column["name"] for column in found.get_columns("alchemy_order")], ["id", "customer_id", "amount", "placed"])
    equal(found.get_pk_constraint("alchemy_order")["constrained_columns"], ["id"])
    keys = found.get_foreign_keys("alchemy_order")
    equal([(key["constrained_columns"], key["referred_table"]) for key in keys], [(["customer_id"], "alchemy_customer")])
    equal([index["column_names"] for index in found.get_indexes("alchemy_customer")], [["name"]])


def is_told_errors():
    with engine().connect() as connection:
        for statement, kind, words in (
            ("select * from absent", exc.DBAPIError, "Invalid object name 'absent'"),
            ("insert alchemy_order (customer_id, amount) values (-1, 1)", exc.IntegrityError, "FOREIGN KEY"),
        ):
            try:
                connection.execute(text(statement))
            except kind as failure:
                assert words in str(failure), failure
            else:
                raise AssertionError(statement)
            connection.rollback()


def pools():
    """A connection that comes back to the pool is rolled back and used again."""
    own = engine(pool_size=1, max_overflow=0)
    opened = []
    event.listen(own, "connect", lambda *_: opened.append(1))
    spids = set()
    for _ in range(5):
        with own.connect() as connection:
            spids.add(connection.scalar(text("select @@spid")))
            connection.execute(text("update alchemy_order set amount = 0"))
    with own.connect() as connection:
        equal(connection.scalar(text("select count(*) from alchemy_order where amount = 0")), 0)
    equal((len(spids), len(opened)), (1, 1))


def failed_commit():
    try:
        with engine().begin() as connection:
            connection.execute(text("insert victim.dbo.committed values (1)"))
    except exc.DBAPIError as failure:
        assert "victim" in str(failure) or "terminated by the server" in str(failure), failure
    else:
        raise AssertionError("no error")


def main():
    report = Report(NAME)
    if FAILED_COMMIT:
        report.check(FAILED_COMMIT, failed_commit)
        return 1 if report.failed else 0
    report.check("connects", connects)
    report.check("maps objects", maps_objects)
    report.check("reflects", reflects)
    report.check("is told errors", is_told_errors)
    report.check("pools", pools)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
