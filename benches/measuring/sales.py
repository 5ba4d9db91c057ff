"""Rows as a shop has them: keys, dates that go on with them, amounts, states, and notes made of words of uneven frequency.

The server draws them itself from the number of the row, so every run has the same. zstd at level 1 packs pages of them, 1 MB
at a time, to about a third; what repeats, repeats further apart than that.
"""

import random

WORDS = 1_000
PHRASES = 1_000
CUSTOMERS = 50_000
SAMPLE_ROWS = 200_000
SEED = 11
ONSETS = "b c d f g l m n p r s t v w st tr ch sh".split()
RIMES = "a e i o u ar en in on er al".split()
MERSENNE_PRIME = 2**31 - 1

COLUMNS = (
    "id int not null, customer_id int not null, ordered_at datetime not null, amount decimal(12, 2) not null, "
    "quantity smallint not null, status char(12) not null, note varchar(200) not null"
)


def words():
    """Words of one to three syllables."""
    draw = random.Random(SEED)
    syllables = [onset + rime for onset in ONSETS for rime in RIMES]
    return ["".join(draw.choices(syllables, k=draw.choice((1, 2, 2, 3)))) for _ in range(WORDS)]


def drawn(multiplier, limit):
    """T-SQL: a whole number under the limit, drawn from n by two steps of a multiplicative congruential generator."""
    step = f"(n + 1) * cast({multiplier} as bigint) % {MERSENNE_PRIME} * 48271 % {MERSENNE_PRIME}"
    return f"({step} / 7 % {limit})"


def drawn_unevenly(multiplier, limit):
    """T-SQL: the same, small numbers more often than large ones."""
    return f"({drawn(multiplier, limit)} * {drawn(multiplier + 2, limit)} / {limit})"


def prepare():
    """Batches that make `sample` with its rows and `sale` without any, in the current database."""
    listed = ", ".join(f"({number}, '{word}')" for number, word in enumerate(words()))
    digits = ", ".join(f"({digit})" for digit in range(10))
    powers = range(6)
    number = " + ".join(f"{10**power} * d{power}.n" for power in powers)
    sources = ", ".join(f"digits d{power}" for power in powers)
    picks = " and ".join(f"w{index}.id = {drawn_unevenly(1_148_271 + 9_901 * index, WORDS)}" for index in range(4))
    return [
        f"create table digits (n int not null) insert digits values {digits}",
        f"create table numbers (n int not null primary key) insert numbers select {number} from {sources} "
        f"where d5.n < {SAMPLE_ROWS // 100_000}",
        f"create table words (id int not null primary key, word varchar(20) not null) insert words values {listed}",
        "create table phrases (id int not null primary key, text varchar(100) not null) "
        "insert phrases select n, w0.word + ' ' + w1.word + ' ' + w2.word + ' ' + w3.word "
        f"from numbers, words w0, words w1, words w2, words w3 where n < {PHRASES} and {picks}",
        f"create table sample ({COLUMNS}) insert sample select n, {drawn_unevenly(630_360_016, CUSTOMERS)}, "
        f"dateadd(second, 40 * n + {drawn(742_938_285, 40)}, '2020-01-01'), {drawn_unevenly(950_706_376, 200_000)} / 100.0, "
        f"1 + {drawn_unevenly(1_226_874_159, 20)}, "
        f"case {drawn(62_089_911, 4)} when 0 then 'open' when 1 then 'paid' when 2 then 'shipped' else 'returned' end, "
        "p0.text + ' ' + p1.text from numbers, phrases p0, phrases p1 "
        f"where p0.id = {drawn_unevenly(1_343_714_438, PHRASES)} and p1.id = {drawn_unevenly(397_204_094, PHRASES)}",
        f"create table sale ({COLUMNS})",
    ]


INSERT = "insert into sale select * from sample"
EMPTY = "truncate table sale"
