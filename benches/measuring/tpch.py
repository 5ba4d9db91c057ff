"""The tables and the 22 questions of the decision support benchmark TPC-H, in words that both engines know.

The tables follow the specification's section 4.2.3 (revision 3.0.1): keys, domains, dates, prices and how many of each. What is random
there is drawn here from the number of the row by whole numbers alone, so both engines hold the same rows; texts are made of phrases.
So these are not the rows of the benchmark's own program, and no time measured with them is a result of the benchmark.
"""

import random

from .orders import drawn

ORDERS = 1_500_000
CUSTOMERS = 150_000
PARTS = 200_000
SUPPLIERS = 10_000
PHRASES = 2_000
SEED = 22
DAYS = 2_406  # From the first of 1992 to the last order, 1998-08-02.
NATIONS = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3), ("GERMANY", 3),
    ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0), ("MOROCCO", 0),
    ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3),
    ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)  # fmt: skip
REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
TYPES = (
    ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
)
CONTAINERS = (("SM", "LG", "MED", "JUMBO", "WRAP"), ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"))
COLOURS = (
    "almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse chiffon chocolate "
    "coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted gainsboro ghost goldenrod green "
    "grey honeydew hot indian ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium metallic midnight mint "
    "misty moccasin navajo navy olive orange orchid pale papaya peach peru pink plum powder puff purple red rose rosy royal saddle "
    "salmon sandy seashell sienna sky slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow"
).split()
WORDS = (
    "furious sly careful blithe quick fluffy slow quiet ruthless thin close dogged daring brave stealthy permanent enticing idle busy "
    "regular final ironic even bold silent special pending express packages requests accounts deposits foxes ideas theodolites "
    "instructions dependencies excuses platelets asymptotes courts dolphins sleep wake are cajole haggle nag use boost affix detect"
).split()


def picked(names, number, multiplier):
    """One of some names, drawn."""
    whens = " ".join(f"when {place} then '{name}'" for place, name in enumerate(names))
    return f"case {drawn(number, multiplier, len(names))} {whens} end"


def phrases():
    """Phrases of five words, the same at every run."""
    draw = random.Random(SEED)
    return [" ".join(draw.choices(WORDS, k=5)) for _ in range(PHRASES)]


def digits_of(number, count):
    """A number with leading zeros."""
    return f"right(concat('{'0' * count}', {number}), {count})"


def phone(nation, number):
    """A telephone number, its country that of the nation."""
    parts = [f"{drawn(number, multiplier, 900)} + 100" for multiplier in (279_470_273, 1_583_458_089)]
    return f"concat({nation} + 10, '-', {parts[0]}, '-', {parts[1]}, '-', {drawn(number, 784_588_716, 9_000)} + 1000)"


def values(rows):
    return ", ".join("(" + ", ".join(str(value) if isinstance(value, int) else f"'{value}'" for value in row) + ")" for row in rows)


DEFINITIONS = [
    "create table region (r_regionkey int not null primary key, r_name char(25) not null)",
    "create table nation (n_nationkey int not null primary key, n_name char(25) not null, n_regionkey int not null)",
    "create table supplier (s_suppkey int not null primary key, s_name char(25) not null, s_address varchar(40) not null, "
    "s_nationkey int not null, s_phone char(15) not null, s_acctbal decimal(15, 2) not null, s_comment varchar(101) not null)",
    "create table part (p_partkey int not null primary key, p_name varchar(55) not null, p_mfgr char(25) not null, "
    "p_brand char(10) not null, p_type varchar(25) not null, p_size int not null, p_container char(10) not null, "
    "p_retailprice decimal(15, 2) not null)",
    "create table partsupp (ps_partkey int not null, ps_suppkey int not null, ps_availqty int not null, "
    "ps_supplycost decimal(15, 2) not null, ps_comment varchar(199) not null, primary key (ps_partkey, ps_suppkey))",
    "create table customer (c_custkey int not null primary key, c_name varchar(25) not null, c_address varchar(40) not null, "
    "c_nationkey int not null, c_phone char(15) not null, c_acctbal decimal(15, 2) not null, c_mktsegment char(10) not null, "
    "c_comment varchar(117) not null)",
    "create table orders (o_orderkey int not null primary key, o_custkey int not null, o_orderstatus char(1) not null, "
    "o_totalprice decimal(15, 2) not null, o_orderdate date not null, o_orderpriority char(15) not null, o_clerk char(15) not null, "
    "o_shippriority int not null, o_comment varchar(79) not null)",
    "create table lineitem (l_orderkey int not null, l_partkey int not null, l_suppkey int not null, l_linenumber int not null, "
    "l_quantity decimal(15, 2) not null, l_extendedprice decimal(15, 2) not null, l_discount decimal(15, 2) not null, "
    "l_tax decimal(15, 2) not null, l_returnflag char(1) not null, l_linestatus char(1) not null, l_shipdate date not null, "
    "l_commitdate date not null, l_receiptdate date not null, l_shipinstruct char(25) not null, l_shipmode char(10) not null, "
    "l_comment varchar(44) not null, primary key (l_orderkey, l_linenumber))",
]
INDEXES = [
    "create index supplier_nation on supplier (s_nationkey)",
    "create index partsupp_supplier on partsupp (ps_suppkey)",
    "create index customer_nation on customer (c_nationkey)",
    "create index orders_customer on orders (o_custkey)",
    "create index orders_date on orders (o_orderdate)",
    "create index lineitem_part on lineitem (l_partkey)",
    "create index lineitem_supplier on lineitem (l_suppkey)",
    "create index lineitem_shipped on lineitem (l_shipdate)",
]


def price(part):
    """The retail price of a part, in hundredths."""
    return f"(90000 + {part} / 10 % 20001 + 100 * ({part} % 1000))"


def supplier_of(part, place, suppliers):
    """One of a part's four suppliers."""
    return f"(({part} + {place} * ({suppliers} / 4 + ({part} - 1) / {suppliers})) % {suppliers} + 1)"


def lines(scale):
    """The order lines: each order has one to seven. Numbers first, columns made of them around."""
    parts, suppliers = int(PARTS * scale), int(SUPPLIERS * scale)
    key = "(b.n * 7 + d.n)"
    base = (
        f"select b.n, b.n / 8 * 32 + b.n % 8 + 1 orderkey, d.n + 1 line, {drawn('b.n', 950_706_376, DAYS)} as day, "
        f"{drawn(key, 1_343_714_438, parts)} + 1 part, {drawn(key, 397_204_094, 4)} place, {drawn(key, 62_089_911, 50)} + 1 quantity, "
        f"{drawn(key, 742_938_285, 11)} discount, {drawn(key, 1_226_874_159, 9)} tax, {drawn(key, 2_027_812_808, 121)} + 1 shipped, "
        f"{drawn(key, 1_148_271_049, 61)} + 30 committed, {drawn(key, 784_588_716, 30)} + 1 received, "
        f"{drawn(key, 279_470_273, PHRASES)} phrase, {key} k "
        f"from numbers b, digits d where d.n <= {drawn('b.n', 1_583_458_089, 7)} and b.n < {int(ORDERS * scale)}"
    )
    last_known = 1_263  # Days to 1995-06-17, the specification's CURRENTDATE.
    return (
        f"insert into lineitem select orderkey, part, {supplier_of('part', 'place', suppliers)}, line, quantity, "
        f"quantity * {price('part')} * 0.01, discount * 0.01, tax * 0.01, "
        f"case when day + shipped + received > {last_known} then 'N' when {drawn('k', 630_360_016, 2)} = 0 then 'R' else 'A' end, "
        f"case when day + shipped > {last_known} then 'O' else 'F' end, <day day + shipped>, <day day + committed>, "
        f"<day day + shipped + received>, {picked(INSTRUCTIONS, 'k', 1_702_500_308)}, {picked(MODES, 'k', 1_976_599_223)}, "
        f"substring(p.words, 1, 44) from ({base}) q join phrases p on p.id = phrase"
    )


def orders(scale):
    """The orders, with what their lines say of them."""
    customers = int(CUSTOMERS * scale)
    customer = f"{drawn('n', 742_938_287, customers // 3 * 2)}"
    return (
        "insert into orders select l.l_orderkey, "
        # A third of the customers has no order: those whose key is a multiple of three.
        f"{customer} / 2 * 3 + {customer} % 2 + 1, "
        "case when l.open_lines = 0 then 'F' when l.open_lines = l.all_lines then 'O' else 'P' end, l.total, "
        f"<day {drawn('n', 950_706_376, DAYS)}>, {picked(PRIORITIES, 'n', 1_148_271_053)}, "
        f"concat('Clerk#', {digits_of(drawn('n', 397_204_099, int(1000 * scale) + 1), 9)}), 0, p.words "
        "from numbers join (select l_orderkey, sum(case when l_linestatus = 'O' then 1 else 0 end) open_lines, count(*) all_lines, "
        "sum(l_extendedprice * (1 + l_tax) * (1 - l_discount)) total from lineitem group by l_orderkey) l "
        f"on l.l_orderkey = n / 8 * 32 + n % 8 + 1 join phrases p on p.id = {drawn('n', 2_027_812_811, PHRASES)} "
        f"where n < {int(ORDERS * scale)}"
    )


def prepare(scale):
    """Statements that make the tables; `scale` is the benchmark's."""
    parts, suppliers, customers = int(PARTS * scale), int(SUPPLIERS * scale), int(CUSTOMERS * scale)
    places = range(len(str(int(ORDERS * scale) - 1)))
    number = " + ".join(f"{10**place} * d{place}.n" for place in places)
    sources = ", ".join(f"digits d{place}" for place in places)
    nation = drawn("n", 630_360_016, 25)
    balance = f"({drawn('n', 742_938_285, 1_099_999)} - 99999) * 0.01"
    words = "p.words from numbers join phrases p on p.id = " + drawn("n", 1_343_714_441, PHRASES)
    complaint = "case when n % 2000 = 7 then 'Customer some Complaints' when n % 2000 = 9 then 'Customer Recommends' else p.words end"
    colours = [picked(COLOURS, "n", multiplier) for multiplier in (950_706_376, 397_204_094, 62_089_911, 1_226_874_159, 784_588_716)]
    maker, brand = drawn("n", 279_470_273, 5), drawn("n", 1_583_458_089, 5)
    kind = ", ' ', ".join(picked(names, "n", 1_702_500_308 + 2 * place) for place, names in enumerate(TYPES))
    container = ", ' ', ".join(picked(names, "n", 1_976_599_223 + 2 * place) for place, names in enumerate(CONTAINERS))
    return [
        "create table digits (n int not null)",
        f"insert into digits values {', '.join(f'({digit})' for digit in range(10))}",
        "create table numbers (n int not null primary key)",
        f"insert into numbers select {number} from {sources} where {number} < {int(ORDERS * scale)}",
        "create table phrases (id int not null primary key, words varchar(70) not null)",
        *[f"insert into phrases values {values(list(enumerate(phrases()))[first:first + 500])}" for first in range(0, PHRASES, 500)],
        *DEFINITIONS,
        f"insert into region values {values(list(enumerate(REGIONS)))}",
        f"insert into nation values {values([(place, *nation) for place, nation in enumerate(NATIONS)])}",
        f"insert into supplier select n + 1, concat('Supplier#', {digits_of('n + 1', 9)}), concat('street ', n), {nation}, "
        f"{phone(nation, 'n')}, {balance}, {words.replace('p.words', complaint)} where n < {suppliers}",
        f"insert into part select n + 1, concat({', '.join(f'{colour}, {chr(39)} {chr(39)}' for colour in colours[:-1])}, {colours[-1]}), "
        f"concat('Manufacturer#', {maker} + 1), concat('Brand#', {maker} + 1, {brand} + 1), concat({kind}), "
        f"{drawn('n', 1_148_271_049, 50)} + 1, concat({container}), {price('(n + 1)')} * 0.01 from numbers where n < {parts}",
        f"insert into partsupp select numbers.n + 1, {supplier_of('(numbers.n + 1)', 'd.n', suppliers)}, "
        f"{drawn('(numbers.n * 4 + d.n)', 742_938_285, 9_999)} + 1, ({drawn('(numbers.n * 4 + d.n)', 950_706_376, 99_901)} + 100) * 0.01, "
        f"p.words from numbers join digits d on d.n < 4 join phrases p on p.id = {drawn('(numbers.n * 4 + d.n)', 397_204_094, PHRASES)} "
        f"where numbers.n < {parts}",
        f"insert into customer select n + 1, concat('Customer#', {digits_of('n + 1', 9)}), concat('street ', n), {nation}, "
        f"{phone(nation, 'n')}, {balance}, {picked(SEGMENTS, 'n', 62_089_911)}, {words} where n < {customers}",
        lines(scale),
        orders(scale),
        *INDEXES,
    ]


REVENUE = "sum(l_extendedprice * (1 - l_discount))"

# By number: the question, with the values that the specification validates answers with.
QUERIES = {
    "Q1": "select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)), "
    "sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*) "
    "from lineitem where l_shipdate <= '1998-09-02' group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus",
    "Q2": "select <top 100> s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment "
    "from part, supplier, partsupp, nation, region where p_partkey = ps_partkey and s_suppkey = ps_suppkey and p_size = 15 "
    "and p_type like '%BRASS' and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'EUROPE' and ps_supplycost = "
    "(select min(ps_supplycost) from partsupp, supplier, nation, region where p_partkey = ps_partkey and s_suppkey = ps_suppkey "
    "and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'EUROPE') "
    "order by s_acctbal desc, n_name, s_name, p_partkey <limit 100>",
    "Q3": f"select <top 10> l_orderkey, {REVENUE} revenue, o_orderdate, o_shippriority from customer, orders, lineitem "
    "where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate < '1995-03-15' "
    "and l_shipdate > '1995-03-15' group by l_orderkey, o_orderdate, o_shippriority "
    "order by revenue desc, o_orderdate, l_orderkey <limit 10>",
    "Q4": "select o_orderpriority, count(*) from orders where o_orderdate >= '1993-07-01' and o_orderdate < '1993-10-01' and exists "
    "(select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate) "
    "group by o_orderpriority order by o_orderpriority",
    "Q5": f"select n_name, {REVENUE} revenue from customer, orders, lineitem, supplier, nation, region where c_custkey = o_custkey "
    "and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey and s_nationkey = n_nationkey "
    "and n_regionkey = r_regionkey and r_name = 'ASIA' and o_orderdate >= '1994-01-01' and o_orderdate < '1995-01-01' "
    "group by n_name order by revenue desc",
    "Q6": "select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= '1994-01-01' and l_shipdate < '1995-01-01' "
    "and l_discount between 0.05 and 0.07 and l_quantity < 24",
    "Q7": "select supp_nation, cust_nation, l_year, sum(volume) from (select n1.n_name supp_nation, n2.n_name cust_nation, "
    "<year l_shipdate> l_year, l_extendedprice * (1 - l_discount) volume from supplier, lineitem, orders, customer, nation n1, nation n2 "
    "where s_suppkey = l_suppkey and o_orderkey = l_orderkey and c_custkey = o_custkey and s_nationkey = n1.n_nationkey "
    "and c_nationkey = n2.n_nationkey and (n1.n_name = 'FRANCE' and n2.n_name = 'GERMANY' or n1.n_name = 'GERMANY' "
    "and n2.n_name = 'FRANCE') and l_shipdate between '1995-01-01' and '1996-12-31') shipping "
    "group by supp_nation, cust_nation, l_year order by supp_nation, cust_nation, l_year",
    "Q8": "select o_year, sum(case when nation = 'BRAZIL' then volume else 0 end) / sum(volume) from (select <year o_orderdate> o_year, "
    "l_extendedprice * (1 - l_discount) volume, n2.n_name nation from part, supplier, lineitem, orders, customer, nation n1, nation n2, "
    "region where p_partkey = l_partkey and s_suppkey = l_suppkey and l_orderkey = o_orderkey and o_custkey = c_custkey "
    "and c_nationkey = n1.n_nationkey and n1.n_regionkey = r_regionkey and r_name = 'AMERICA' and s_nationkey = n2.n_nationkey "
    "and o_orderdate between '1995-01-01' and '1996-12-31' and p_type = 'ECONOMY ANODIZED STEEL') all_nations "
    "group by o_year order by o_year",
    "Q9": "select nation, o_year, sum(amount) from (select n_name nation, <year o_orderdate> o_year, "
    "l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity amount from part, supplier, lineitem, partsupp, orders, nation "
    "where s_suppkey = l_suppkey and ps_suppkey = l_suppkey and ps_partkey = l_partkey and p_partkey = l_partkey "
    "and o_orderkey = l_orderkey and s_nationkey = n_nationkey and p_name like '%green%') profit "
    "group by nation, o_year order by nation, o_year desc",
    "Q10": f"select <top 20> c_custkey, c_name, {REVENUE} revenue, c_acctbal, n_name, c_address, c_phone, c_comment "
    "from customer, orders, lineitem, nation where c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate >= '1993-10-01' "
    "and o_orderdate < '1994-01-01' and l_returnflag = 'R' and c_nationkey = n_nationkey "
    "group by c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment order by revenue desc, c_custkey <limit 20>",
    "Q11": "select ps_partkey, sum(ps_supplycost * ps_availqty) as value from partsupp, supplier, nation where ps_suppkey = s_suppkey "
    "and s_nationkey = n_nationkey and n_name = 'GERMANY' group by ps_partkey having sum(ps_supplycost * ps_availqty) > "
    "(select sum(ps_supplycost * ps_availqty) * <fraction> from partsupp, supplier, nation where ps_suppkey = s_suppkey "
    "and s_nationkey = n_nationkey and n_name = 'GERMANY') order by value desc, ps_partkey",
    "Q12": "select l_shipmode, sum(case when o_orderpriority = '1-URGENT' or o_orderpriority = '2-HIGH' then 1 else 0 end), "
    "sum(case when o_orderpriority <> '1-URGENT' and o_orderpriority <> '2-HIGH' then 1 else 0 end) from orders, lineitem "
    "where o_orderkey = l_orderkey and l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate and l_shipdate < l_commitdate "
    "and l_receiptdate >= '1994-01-01' and l_receiptdate < '1995-01-01' group by l_shipmode order by l_shipmode",
    "Q13": "select c_count, count(*) customers from (select c_custkey, count(o_orderkey) c_count from customer left join orders "
    "on c_custkey = o_custkey and o_comment not like '%special%requests%' group by c_custkey) c_orders "
    "group by c_count order by customers desc, c_count desc",
    "Q14": "select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end) / "
    f"{REVENUE} from lineitem, part where l_partkey = p_partkey and l_shipdate >= '1995-09-01' and l_shipdate < '1995-10-01'",
    "Q15": f"with revenue (supplier_no, total_revenue) as (select l_suppkey, {REVENUE} from lineitem where l_shipdate >= '1996-01-01' "
    "and l_shipdate < '1996-04-01' group by l_suppkey) select s_suppkey, s_name, s_address, s_phone, total_revenue "
    "from supplier, revenue where s_suppkey = supplier_no and total_revenue = (select max(total_revenue) from revenue) order by s_suppkey",
    "Q16": "select p_brand, p_type, p_size, count(distinct ps_suppkey) supplier_count from partsupp, part where p_partkey = ps_partkey "
    "and p_brand <> 'Brand#45' and p_type not like 'MEDIUM POLISHED%' and p_size in (49, 14, 23, 45, 19, 3, 36, 9) and ps_suppkey not in "
    "(select s_suppkey from supplier where s_comment like '%Customer%Complaints%') "
    "group by p_brand, p_type, p_size order by supplier_count desc, p_brand, p_type, p_size",
    "Q17": "select sum(l_extendedprice) / 7.0 from lineitem, part where p_partkey = l_partkey and p_brand = 'Brand#23' "
    "and p_container = 'MED BOX' and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where l_partkey = p_partkey)",
    "Q18": "select <top 100> c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) from customer, orders, lineitem "
    "where o_orderkey in (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > 300) and c_custkey = o_custkey "
    "and o_orderkey = l_orderkey group by c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice "
    "order by o_totalprice desc, o_orderdate, o_orderkey <limit 100>",
    "Q19": f"select {REVENUE} from lineitem, part where "
    + " or ".join(
        f"(p_partkey = l_partkey and p_brand = '{brand}' and p_container in ({boxes}) and l_quantity >= {least} "
        f"and l_quantity <= {least + 10} and p_size between 1 and {size} and l_shipmode in ('AIR', 'REG AIR') "
        "and l_shipinstruct = 'DELIVER IN PERSON')"
        for brand, boxes, least, size in (
            ("Brand#12", "'SM CASE', 'SM BOX', 'SM PACK', 'SM PKG'", 1, 5),
            ("Brand#23", "'MED BAG', 'MED BOX', 'MED PKG', 'MED PACK'", 10, 10),
            ("Brand#34", "'LG CASE', 'LG BOX', 'LG PACK', 'LG PKG'", 20, 15),
        )
    ),
    "Q20": "select s_name, s_address from supplier, nation where s_suppkey in (select ps_suppkey from partsupp where ps_partkey in "
    "(select p_partkey from part where p_name like 'forest%') and ps_availqty > (select 0.5 * sum(l_quantity) from lineitem "
    "where l_partkey = ps_partkey and l_suppkey = ps_suppkey and l_shipdate >= '1994-01-01' and l_shipdate < '1995-01-01')) "
    "and s_nationkey = n_nationkey and n_name = 'CANADA' order by s_name",
    "Q21": "select <top 100> s_name, count(*) numwait from supplier, lineitem l1, orders, nation where s_suppkey = l1.l_suppkey "
    "and o_orderkey = l1.l_orderkey and o_orderstatus = 'F' and l1.l_receiptdate > l1.l_commitdate and exists (select * from lineitem l2 "
    "where l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey) and not exists (select * from lineitem l3 "
    "where l3.l_orderkey = l1.l_orderkey and l3.l_suppkey <> l1.l_suppkey and l3.l_receiptdate > l3.l_commitdate) "
    "and s_nationkey = n_nationkey and n_name = 'SAUDI ARABIA' group by s_name order by numwait desc, s_name <limit 100>",
    "Q22": "select cntrycode, count(*), sum(c_acctbal) from (select substring(c_phone, 1, 2) cntrycode, c_acctbal from customer "
    "where substring(c_phone, 1, 2) in ('13', '31', '23', '29', '30', '18', '17') and c_acctbal > (select avg(c_acctbal) from customer "
    "where c_acctbal > 0.00 and substring(c_phone, 1, 2) in ('13', '31', '23', '29', '30', '18', '17')) and not exists "
    "(select * from orders where o_custkey = c_custkey)) custsale group by cntrycode order by cntrycode",
}


def query(name, scale):
    """A question; one of them asks for a share that goes with the scale."""
    return QUERIES[name].replace("<fraction>", f"{0.0001 / scale:.7f}")
