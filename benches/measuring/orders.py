"""A shop's tables and the questions asked of them, in words that both engines know.

100,000 customers, 1,000,000 orders, 3,000,000 lines; four secondary indexes. Values are drawn from the number of the row by whole
numbers alone, so both engines hold the same. Below them lie chains of tables of ten rows, for joins of many tables.
"""

import random
from dataclasses import dataclass

CUSTOMERS = 100_000
ORDERS = 1_000_000
LINES_PER_ORDER = 3
CITIES = 1_000
PRODUCTS = 10_000
BANDS = 20_000
CHAIN_TABLES = 64
CHAIN_ROWS = 10
SEED = 12
MERSENNE_PRIME = 2**31 - 1

# The moment of an order: minutes from the first of 2020, each once, in an order that is not that of the keys.
FIRST_DAY = "2020-01-01"
MINUTE_STEP = 7_919


@dataclass(frozen=True)
class Dialect:
    """What the engines spell differently."""

    moment: str
    # So many minutes after the first day.
    after: str
    # So many days after the first of 1992.
    day: str
    year: str
    top: str
    limit: str
    separator: str

    def text(self, template):
        """A statement of its template: `<moment>`, and marks with a value, `<top 10>`."""
        for mark in ("top", "limit", "after", "day", "year"):
            while f"<{mark} " in template:
                begin = template.index(f"<{mark} ")
                end = template.index(">", begin)
                value = template[begin + len(mark) + 2 : end]
                template = template[:begin] + getattr(self, mark).format(value) + template[end + 1 :]
        return template.replace("<moment>", self.moment)


VLFLAB = Dialect(
    "datetime2(0)",
    f"dateadd(minute, {{}}, cast('{FIRST_DAY}' as datetime2(0)))",
    "dateadd(day, {}, cast('1992-01-01' as date))",
    "year({})",
    "top {}",
    "",
    "\ngo\n",
)
POSTGRESQL = Dialect(
    "timestamp(0)",
    f"timestamp '{FIRST_DAY}' + ({{}}) * interval '1 minute'",
    "date '1992-01-01' + ({})",
    "cast(extract(year from {}) as int)",
    "",
    "limit {}",
    ";\n",
)


def drawn(number, multiplier, limit):
    """A whole number under the limit, drawn by two steps of a multiplicative congruential generator."""
    step = f"({number} + 1) * cast({multiplier} as bigint) % {MERSENNE_PRIME} * 48271 % {MERSENNE_PRIME}"
    return f"cast({step} / 7 % {limit} as int)"


def prepare(scale=1.0):
    """Statements that make the tables; `scale` is the share of the rows."""
    orders, customers, bands = (max(int(rows * scale), 1_000) for rows in (ORDERS, CUSTOMERS, BANDS))
    digits = ", ".join(f"({digit})" for digit in range(10))
    places = range(len(str(orders - 1)))
    number = " + ".join(f"{10**place} * d{place}.n" for place in places)
    sources = ", ".join(f"digits d{place}" for place in places)
    statements = [
        "create table digits (n int not null)",
        f"insert into digits values {digits}",
        "create table numbers (n int not null primary key)",
        f"insert into numbers select {number} from {sources} where {number} < {orders}",
        "create table customers (id int not null primary key, name varchar(40) not null, city varchar(20) not null, "
        "credit int not null)",
        "insert into customers select n + 1, concat('customer ', n + 1), "
        f"concat('city ', {drawn('n', 630_360_016, CITIES)}), {drawn('n', 742_938_285, 1_000_000)} "
        f"from numbers where n < {customers}",
        "create table orders (id int not null primary key, customer_id int not null, ordered_at <moment> not null, "
        "status int not null, total int not null)",
        f"insert into orders select n + 1, {drawn('n', 950_706_376, customers)} + 1, "
        f"<after cast(cast(n as bigint) * {MINUTE_STEP} % {orders} as int)>, {drawn('n', 62_089_911, 5)}, "
        f"{drawn('n', 1_226_874_159, 100_000)} from numbers",
        "create table lines (order_id int not null, line_no int not null, product_id int not null, quantity int not null, "
        "price int not null, note varchar(40) not null, primary key (order_id, line_no))",
        f"insert into lines select n + 1, d.n, {drawn('(n * 3 + d.n)', 1_343_714_438, PRODUCTS)}, "
        f"{drawn('(n * 3 + d.n)', 397_204_094, 10)} + 1, {drawn('(n * 3 + d.n)', 1_148_271_049, 1_000_000)}, "
        f"concat('line ', d.n, ' of order ', numbers.n) from numbers, digits d where d.n < {LINES_PER_ORDER}".replace(
            "(n ", "(numbers.n "
        ).replace("select n ", "select numbers.n "),
        "create table bands (id int not null primary key, low int not null, high int not null)",
        f"insert into bands select n + 1, {drawn('n', 2_027_812_808, customers)}, "
        f"{drawn('n', 2_027_812_808, customers)} + 4 from numbers where n < {bands}",
        "create index customers_city on customers (city)",
        "create index orders_customer on orders (customer_id)",
        "create index orders_moment on orders (ordered_at)",
        "create index lines_product on lines (product_id)",
    ]
    for table in range(CHAIN_TABLES):
        statements.append(f"create table chain{table} (id int not null primary key, next int not null)")
        statements.append(f"insert into chain{table} select n, n * 7 % {CHAIN_ROWS} from numbers where n < {CHAIN_ROWS}")
    return statements


def chain(tables):
    """A join of so many tables, each with the next one, listed in any order."""
    listed = [f"chain{table}" for table in range(tables)]
    random.Random(SEED).shuffle(listed)
    links = [f"chain{table}.next = chain{table + 1}.id" for table in range(tables - 1)]
    return f"select count(*), sum(chain{tables - 1}.next) from {', '.join(listed)} where {' and '.join(links)}"


ALL = "from customers c join orders o on o.customer_id = c.id join lines l on l.order_id = o.id"
DAY = "ordered_at >= '2020-03-01' and ordered_at < '2020-03-02'"

# By name: the statement. Every answer is the same rows whatever the plan.
QUERIES = {
    "one customer joined by key": f"select c.name, o.id, o.total, l.line_no, l.price {ALL} where c.id = 711",
    "MIN and MAX of an indexed column": "select min(ordered_at), max(ordered_at) from orders",
    "top 10 by an indexed column": "select <top 10> id, ordered_at, total from orders order by ordered_at desc <limit 10>",
    "range of an indexed column": f"select count(*), sum(total) from orders where {DAY}",
    "OR over two indexes": "select count(*), sum(total) from orders where customer_id = 711 or "
    "ordered_at between '2020-03-01' and '2020-03-01 00:30'",
    "comma join, filter on the last": "select count(*), sum(l.price) from customers c, orders o, lines l "
    "where o.customer_id = c.id and l.order_id = o.id and l.product_id = 77",
    "FROM order of a cross product": "select count(*), sum(l.quantity) from customers c, lines l, orders o "
    "where o.customer_id = c.id and l.order_id = o.id and c.city = 'city 17'",
    "non-equi join": "select count(*), sum(cast(c.credit as bigint)) from bands b join customers c on c.id >= b.low and c.id < b.high",
    "EXISTS": "select count(*) from customers c where exists (select * from orders o where o.customer_id = c.id and o.total > 95000)",
    "IN": "select count(*), sum(cast(total as bigint)) from orders where customer_id in (select id from customers where city < 'city 2')",
    "anti-join": "select count(*) from customers c left join orders o on o.customer_id = c.id where o.id is null",
    "NOT EXISTS": "select count(*) from customers c where not exists "
    "(select * from orders o where o.customer_id = c.id and o.status = 3)",
    "scalar subquery": "select count(x), sum(x) from (select (select max(o.total) from orders o where o.customer_id = c.id) x "
    "from customers c where c.city < 'city 2') q",
    "three tables joined, filtered, grouped": f"select c.city, count(*), sum(l.quantity) {ALL} "
    "where o.ordered_at >= '2020-06-01' and l.quantity < 5 group by c.city",
    "top 10 by an unindexed column": "select <top 10> order_id, line_no, price from lines "
    "order by price desc, order_id, line_no <limit 10>",
    "COUNT DISTINCT": "select count(distinct product_id), count(distinct order_id) from lines",
    "windows": "select sum(place), sum(before) from (select row_number() over (partition by customer_id order by ordered_at) place, "
    "lag(status, 1, 0) over (partition by customer_id order by ordered_at) before from orders) q",
    "100,000 groups": "select count(*), sum(n), max(largest) from "
    "(select customer_id, count(*) n, max(total) largest from orders group by customer_id) q",
    "chain of 28 tables": chain(28),
    "chain of 64 tables": chain(64),
}
