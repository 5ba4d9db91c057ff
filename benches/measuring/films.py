"""The tables of a film database, in words that both engines know: what the 113 questions of `films_questions` are asked of.

The 21 tables, their sizes beside each other, and the shape of the questions are those of the Join Order Benchmark (Leis et al., "How Good
Are Query Optimizers, Really?", 2015), which asks the Internet Movie Database. The rows are drawn here from the number of the row by
whole numbers alone, so both engines hold the same. What makes that benchmark hard for estimates is in them:

    skew          few titles, people, companies and keywords have most of the rows; a value is the product of several draws
    correlation   a title's rank decides its kind, year, country, genre and ratings; its companies, people, keywords and infos follow these
    gaps          years, notes, characters, genders and country codes that are NULL

A title's rank counts from the most popular one; its key is the rank's place in another order, so that popular titles do not lie together.
Texts are lower case, digits, blanks and brackets, which sort alike in both engines.
"""

import random

from .orders import drawn
from .tpch import values

TITLES = 100_000
COUNTRY_COUNT = GENRE_COUNT = 20
PHRASES = 2_000
SEED = 15
KEY_STEP = 7_919
PLACES = 100  # Wordings of each kind of info.

KINDS = ("movie", "tv series", "tv movie", "video movie", "tv mini series", "video game", "episode")
ROLES = (
    "actor", "actress", "producer", "writer", "cinematographer", "composer", "costume designer", "director", "editor",
    "miscellaneous crew", "production designer", "guest",
)  # fmt: skip
COMPANY_TYPES = ("production companies", "distributors", "special effects companies", "miscellaneous companies")
CAST_TYPES = ("cast", "crew", "complete", "complete and verified")
LINKS = (
    "follows", "followed by", "remake of", "remade as", "references", "referenced in", "spoofs", "spoofed in", "features", "featured in",
    "spin off from", "spin off", "version of", "similar to", "edited into", "edited from", "alternate language version of", "unknown link",
)  # fmt: skip
COUNTRIES = (
    "usa", "uk", "germany", "france", "japan", "india", "italy", "canada", "spain", "sweden", "denmark", "russia", "brazil", "mexico",
    "china", "poland", "finland", "norway", "australia", "bulgaria",
)  # fmt: skip
CODES = "us gb de fr jp in it ca es se dk ru br mx cn pl fi no au bg".split()
LANGUAGES = (
    "english", "british english", "german", "french", "japanese", "hindi", "italian", "canadian english", "spanish", "swedish", "danish",
    "russian", "portuguese", "mexican spanish", "mandarin", "polish", "finnish", "norwegian", "australian english", "bulgarian",
)  # fmt: skip
GENRES = (
    "drama", "comedy", "documentary", "short", "thriller", "action", "romance", "horror", "crime", "animation", "adventure", "family",
    "science fiction", "fantasy", "mystery", "music", "western", "war", "history", "sport",
)  # fmt: skip
KEYWORDS = (
    "murder", "sequel", "love", "character name in title", "independent film", "based on novel", "revenge", "superhero", "violence",
    "blood", "friendship", "new york", "marriage", "female lead", "police", "dream", "gore", "magnet", "hero", "martial arts", "second part",
    "hospital", "web", "fight", "space", "vampire", "desert", "train", "piano", "chase", "island", "computer", "winter", "orphan", "boxing",
    "ghost", "pirate", "robot", "circus", "heist",
)  # fmt: skip
RELEASES = ("in theatres", "on video", "at a festival", "on air", "premiere")
# Kinds of info: of films, of films with an index over them, of people.
FILM_INFO = (
    "genres", "countries", "languages", "release dates", "runtimes", "color info", "sound mix", "certificates", "budget", "gross", "plot",
    "locations", "taglines", "trivia", "goofs", "soundtracks",
)  # fmt: skip
INDEXED_INFO = ("rating", "votes", "top rank", "bottom rank")
PERSON_INFO = ("birth place", "birth date", "height", "mini biography", "spouse", "quotes", "birth name", "death date")
INFO = FILM_INFO + INDEXED_INFO + PERSON_INFO
WORDS = (
    "angel autumn bandit bridge broken castle champion chance cold crown dark dawn day dead desert devil dog door dragon dream dust east "
    "empire end enemy fall father fire first forest forgotten garden ghost glass gold golden grave great green gun heart heaven hero hidden "
    "high hill home honor house hunter ice island journey judge jungle killer king kiss lady last law legend letter light lion little long "
    "lost love lucky man mask master men midnight mile mirror money moon morning mother mountain mystery night north ocean old orchid outlaw "
    "paradise paris party past perfect pirate point prince promise queen quiet rain red return river road robot rose saint sand sea second "
    "secret shadow ship silence silver sister sky smile snow soldier song star stone storm stranger street summer sun sweet sword tale tears "
    "tiger time tower town train treasure tree truth valley velvet voice wall war water west white wild wind window winter wolf woman world"
).split()
NAMES = (
    "aldo anna bengt bert bo carla chris dana david diego downey elena emil erik eva fay fritz gina greta hans hugo ida ines ivan jan jack "
    "jane john joan karl kate kim lars lena leo lin liv lou luis maria mark marta max mia nils nora olga oscar otto pablo paul pia ralf rita "
    "rob rosa ruth sam sara stan sven tim tom una vera vic walt wanda will xenia yan yves zack zoe"
).split()

DEFINITIONS = [
    *[
        f"create table {table} (id int not null primary key, {column} varchar(40) not null)"
        for table, column in (
            ("kind_type", "kind"), ("role_type", "role"), ("company_type", "kind"), ("comp_cast_type", "kind"), ("link_type", "link"),
            ("info_type", "info"), ("keyword", "keyword"),
        )
    ],  # fmt: skip
    "create table title (id int not null primary key, title varchar(80) not null, kind_id int not null, production_year int, "
    "season_no int, episode_no int)",
    "create table name (id int not null primary key, name varchar(60) not null, gender char(1), name_code varchar(5) not null)",
    "create table char_name (id int not null primary key, name varchar(60) not null)",
    "create table company_name (id int not null primary key, name varchar(60) not null, country_code varchar(2))",
    "create table movie_companies (id int not null primary key, movie_id int not null, company_id int not null, "
    "company_type_id int not null, note varchar(60))",
    "create table movie_info (id int not null primary key, movie_id int not null, info_type_id int not null, info varchar(60) not null, "
    "note varchar(40))",
    "create table movie_info_idx (id int not null primary key, movie_id int not null, info_type_id int not null, info varchar(60) not null)",
    "create table movie_keyword (id int not null primary key, movie_id int not null, keyword_id int not null)",
    "create table movie_link (id int not null primary key, movie_id int not null, linked_movie_id int not null, link_type_id int not null)",
    "create table aka_name (id int not null primary key, person_id int not null, name varchar(60) not null)",
    "create table aka_title (id int not null primary key, movie_id int not null, title varchar(80) not null)",
    "create table cast_info (id int not null primary key, person_id int not null, movie_id int not null, person_role_id int, "
    "note varchar(40), order_no int, role_id int not null)",
    "create table person_info (id int not null primary key, person_id int not null, info_type_id int not null, info varchar(60) not null, "
    "note varchar(40))",
    "create table complete_cast (id int not null primary key, movie_id int not null, subject_id int not null, status_id int not null)",
]
# A column of keys of another table each; every one has an index.
INDEXED = (
    "title.kind_id movie_companies.movie_id movie_companies.company_id movie_companies.company_type_id movie_info.movie_id "
    "movie_info.info_type_id movie_info_idx.movie_id movie_info_idx.info_type_id movie_keyword.movie_id movie_keyword.keyword_id "
    "movie_link.movie_id movie_link.linked_movie_id movie_link.link_type_id aka_name.person_id aka_title.movie_id cast_info.person_id "
    "cast_info.movie_id cast_info.person_role_id cast_info.role_id person_info.person_id person_info.info_type_id complete_cast.movie_id "
    "complete_cast.subject_id complete_cast.status_id"
).split()
INDEXES = [f"create index {name.replace('.', '_')} on {name.split('.')[0]} ({name.split('.')[1]})" for name in INDEXED]


def uneven(number, multiplier, limit, times=2):
    """A whole number under the limit, small ones far more often: the product of some draws."""
    text = f"cast({drawn(number, multiplier, limit)} as bigint)"
    for place in range(1, times):
        text = f"({text} * {drawn(number, multiplier + 2_654_435 * place, limit)} / {limit})"
    return f"cast({text} as int)"


def key_of(rank, count):
    """The key of what has a rank among so many: in another order, each once."""
    return f"(cast(cast({rank} as bigint) * {KEY_STEP} % {count} as int) + 1)"


def country_of(rank):
    """The place among the countries of the title with a rank."""
    return uneven(rank, 630_360_016, COUNTRY_COUNT)


def genre_of(rank):
    return uneven(rank, 742_938_285, GENRE_COUNT)


def wordings():
    """What infos say, by kind of info and place: (id, text)."""
    # What goes by a title's country or genre: the same place says the same of it.
    own = {
        "genres": lambda place: GENRES[place // 5],
        "countries": lambda place: COUNTRIES[place // 5],
        "languages": lambda place: LANGUAGES[place // 5],
        "release dates": lambda place: f"{COUNTRIES[place // 5]} {RELEASES[place % 5]}",
        "birth place": lambda place: f"{NAMES[place % 5]}town {COUNTRIES[place // 5]}",
        "rating": lambda place: f"{place / 10:.1f}",
        "votes": lambda place: f"{(PLACES - place) ** 3:07}",
        "top rank": lambda place: f"{place + 1:03}",
        "bottom rank": lambda place: f"{PLACES - place:03}",
        "runtimes": lambda place: f"{60 + place}",
        "color info": lambda place: "color" if place < 60 else "black and white",
        "budget": lambda place: f"{(place + 1) ** 3 * 100:09}",
        "gross": lambda place: f"{(place + 1) ** 3 * 300:09}",
    }
    rows = []
    for at, info in enumerate(INFO):
        draw = random.Random(SEED * 1_000 + at)
        for place in range(PLACES):
            text = own[info](place) if info in own else " ".join(draw.choices(WORDS, k=3))
            rows.append(((at + 1) * PLACES + place, text))
    return rows


def phrases():
    draw = random.Random(SEED)
    return [(place, " ".join(draw.choices(WORDS, k=draw.choice((1, 2, 2, 3))))) for place in range(PHRASES)]


def persons():
    draw = random.Random(SEED + 1)
    return [(place, f"{draw.choice(NAMES)}{draw.choice(('', 'son', 'ez', 'er', 'in'))} {draw.choice(NAMES)}") for place in range(PHRASES)]


def inserted(table, rows):
    """Statements that insert rows."""
    return [f"insert into {table} values {values(rows[first:first + 500])}" for first in range(0, len(rows), 500)]


def titles(count):
    """Popular titles are films, the others mostly episodes; popular ones are younger."""
    kind = (
        f"case when n < {count * 3 // 10} then case when {drawn('n', 950_706_376, 10)} < 7 then 1 else {drawn('n', 62_089_911, 6)} + 2 end "
        f"when {drawn('n', 950_706_376, 10)} < 7 then 7 else {drawn('n', 62_089_911, 6)} + 1 end"
    )
    year = f"2019 - cast(cast(n as bigint) * 40 / {count} as int) - {uneven('n', 397_204_094, 100)}"
    return (
        f"insert into title select {key_of('n', count)}, concat(p.words, ' ', n % 97), kind, case when n % 31 = 30 then null else made end, "
        f"case when kind = 7 then n % 12 + 1 end, case when kind = 7 then n % 24 + 1 end from (select n, {kind} kind, {year} made "
        f"from numbers where n < {count}) q join phrases p on p.id = {drawn('n', 1_148_271_049, PHRASES)}"
    )


def people(count):
    """People and the characters they play; a person's country is the rank's rest."""
    name = f"from numbers join persons p on p.id = {drawn('n', 1_226_874_159, PHRASES)} where n < "
    return [
        f"insert into name select {key_of('n', count)}, concat(p.words, ' ', n % 211), case n / {COUNTRY_COUNT} % 3 when 0 then 'f' "
        f"when 1 then 'm' end, concat(substring(p.words, 1, 1), {drawn('n', 62_089_911, 999)}) {name}{count}",
        f"insert into char_name select n + 1, concat(p.words, ' ', n % 307) {name.replace('persons', 'phrases')}{count * 3 // 4}",
        f"insert into aka_name select n + 1, {key_of(uneven('n', 279_470_273, count), count)}, concat(p.words, ' alias ', n % 11) "
        f"{name}{count // 4}",
        f"insert into person_info select n + 1, {key_of('person', count)}, type, w.text, case when n % 7 = 3 then p.words end from "
        f"(select n, person, type, case when type = {INFO.index('birth place') + 1} then person % {COUNTRY_COUNT} * 5 + {drawn('n', 950_706_376, 5)} "
        f"else {uneven('n', 397_204_094, PLACES)} end place from (select n, {uneven('n', 784_588_716, count)} person, "
        f"{len(FILM_INFO + INDEXED_INFO) + 1} + {uneven('n', 62_089_911, len(PERSON_INFO))} type from numbers where n < {count * 3 // 4}) r) q "
        f"join wordings w on w.id = type * {PLACES} + place join persons p on p.id = {drawn('n', 1_226_874_159, PHRASES)}",
    ]


def companies(count, titles_count):
    """Companies; those of a title are mostly of its country."""
    own = f"{uneven('n', 1_583_458_089, count // COUNTRY_COUNT)} * {COUNTRY_COUNT} + {country_of('r')}"
    notes = "case when n % 5 < 2 then null when n % 5 = 2 then concat('(', c.words, ') (tv)') when n % 5 = 3 then concat('(co production) (', "
    notes += "c.words, ')') else concat('(', 1950 + n % 69, ') (', c.words, ') (theatrical)') end"
    code = " ".join(f"when {place} then '{code}'" for place, code in enumerate(CODES))
    return [
        "insert into company_name select n + 1, concat(p.words, case n % 7 when 0 then ' film' when 1 then ' pictures' when 2 then ' "
        f"productions' when 3 then ' television' when 4 then ' studios' else ' media' end), case when n % 97 = 5 then null else "
        f"case n % {COUNTRY_COUNT} {code} end end from numbers join phrases p on p.id = {drawn('n', 2_027_812_808, PHRASES)} where n < {count}",
        f"insert into movie_companies select n + 1, {key_of('r', titles_count)}, case when n % 10 < 8 then {own} else "
        f"{drawn('n', 1_343_714_438, count)} end + 1, {uneven('n', 1_702_500_308, len(COMPANY_TYPES))} + 1, {notes} "
        f"from (select n, {uneven('n', 1_976_599_223, titles_count)} r from numbers where n < {titles_count * 12 // 10}) q "
        f"join countries c on c.id = {drawn('n', 279_470_273, COUNTRY_COUNT)}",
    ]


def infos(count):
    """What is said of titles: genre, country and language are the title's, ratings go down with its popularity."""
    by_country = ", ".join(str(FILM_INFO.index(info) + 1) for info in ("countries", "languages", "release dates"))
    place = (
        f"case when type = 1 then ({genre_of('r')} + {drawn('n', 784_588_716, 4)} / 3) % {GENRE_COUNT} * 5 "
        f"when type in ({by_country}) then {country_of('r')} * 5 + {drawn('n', 950_706_376, 5)} else {uneven('n', 397_204_094, PLACES)} end"
    )
    popularity = f"cast(cast(r as bigint) * 60 / {count} as int)"
    indexed = f"case when type = {len(FILM_INFO) + 1} then 95 - {popularity} - {drawn('n', 62_089_911, 30)} else {popularity} + {drawn('n', 62_089_911, 40)} end"
    return [
        f"insert into movie_info select n + 1, {key_of('r', count)}, type, w.text, case when n % 11 = 4 then concat('note ', n % 100) end "
        f"from (select n, r, type, {place} place from (select n, {uneven('n', 1_148_271_049, count)} r, "
        f"{uneven('n', 742_938_287, len(FILM_INFO))} + 1 type from numbers where n < {count * 6}) a) q "
        f"join wordings w on w.id = type * {PLACES} + place",
        f"insert into movie_info_idx select n + 1, {key_of('r', count)}, type, w.text from (select n, r, type, {indexed} place from "
        f"(select n, n / 3 r, n % 3 + {len(FILM_INFO) + 1} + case when n % 300 = 299 then 1 else 0 end type "
        f"from numbers where n < {count * 55 // 100}) a) q join wordings w on w.id = type * {PLACES} + place",
    ]


def casts(count, people_count):
    """Who is in what: mostly people of the title's country, women as actresses, notes by role."""
    person = f"case when n % 10 < 7 then {uneven('n', 1_226_874_159, people_count // COUNTRY_COUNT)} * {COUNTRY_COUNT} + {country_of('r')} "
    person += f"else {uneven('n', 62_089_911, people_count)} end"
    role = f"case when n % 10 < 6 then case when person / {COUNTRY_COUNT} % 3 = 0 then 2 else 1 end else {uneven('n', 1_343_714_438, 10)} + 3 end"
    note = (
        "case when role <= 2 then case n % 9 when 0 then '(voice)' when 1 then '(uncredited)' when 2 then '(voice) (uncredited)' "
        "when 3 then '(as himself)' end when role = 3 then case n % 3 when 0 then '(producer)' when 1 then '(executive producer)' "
        "else '(associate producer)' end when role = 4 then case n % 4 when 0 then '(writer)' when 1 then '(story)' when 2 then '(novel)' end end"
    )
    return (
        f"insert into cast_info select n + 1, {key_of('person', people_count)}, {key_of('r', count)}, case when role <= 2 then "
        f"{uneven('n', 2_027_812_808, people_count * 3 // 4)} + 1 end, {note}, case when role <= 2 then n % 40 + 1 end, role "
        f"from (select n, r, person, {role} role from (select n, r, {person} person from (select n, {uneven('n', 950_706_376, count, 3)} r "
        f"from numbers where n < {count * 14}) a) b) q"
    )


def ties(count, keywords):
    """Keywords, those of the title's genre among them; links, other titles, casts that are complete."""
    own = f"{genre_of('r')} * {keywords // GENRE_COUNT} + {uneven('n', 1_583_458_089, keywords // GENRE_COUNT)}"
    named = " ".join(f"when {place * keywords // len(KEYWORDS)} then '{word}'" for place, word in enumerate(KEYWORDS))
    return [
        f"insert into keyword select n + 1, case n {named} else concat(p.words, ' of ', n) end from numbers "
        f"join phrases p on p.id = {drawn('n', 1_702_500_308, PHRASES)} where n < {keywords}",
        f"insert into movie_keyword select n + 1, {key_of('r', count)}, case when n % 3 = 0 then {uneven('n', 742_938_287, keywords)} else {own} end + 1 "
        f"from (select n, {uneven('n', 397_204_094, count, 3)} r from numbers where n < {count * 18 // 10}) q",
        f"insert into movie_link select n + 1, {key_of(uneven('n', 279_470_273, count, 3), count)}, {key_of(uneven('n', 784_588_716, count), count)}, "
        f"{uneven('n', 1_976_599_223, len(LINKS))} + 1 from numbers where n < {count * 3 // 100}",
        f"insert into aka_title select n + 1, {key_of(uneven('n', 1_148_271_049, count), count)}, concat(p.words, ' ', n % 89) from numbers "
        f"join phrases p on p.id = {drawn('n', 62_089_911, PHRASES)} where n < {count * 15 // 100}",
        f"insert into complete_cast select n + 1, {key_of(uneven('n', 1_343_714_438, count), count)}, n % 5 / 4 + 1, {drawn('n', 950_706_376, 3)} / 2 + 3 "
        f"from numbers where n < {count * 6 // 100}",
    ]


def prepare(scale=1.0):
    """Statements that make the tables; `scale` is the share of the rows."""
    count = max(int(TITLES * scale), 1_000)
    people_count, company_count, keyword_count = count * 16 // 10, count // 10, max(count // 20, 200)
    rows = count * 14
    places = range(len(str(rows - 1)))
    number = " + ".join(f"{10**place} * d{place}.n" for place in places)
    sources = ", ".join(f"digits d{place}" for place in places)
    named = {
        "kind_type": KINDS, "role_type": ROLES, "company_type": COMPANY_TYPES, "comp_cast_type": CAST_TYPES, "link_type": LINKS,
        "info_type": INFO,
    }  # fmt: skip
    return [
        "create table digits (n int not null)",
        f"insert into digits values {', '.join(f'({digit})' for digit in range(10))}",
        "create table numbers (n int not null primary key)",
        f"insert into numbers select {number} from {sources} where {number} < {rows} and d{len(places) - 1}.n <= {rows // 10 ** (len(places) - 1)}",
        "create table phrases (id int not null primary key, words varchar(70) not null)",
        *inserted("phrases", phrases()),
        "create table persons (id int not null primary key, words varchar(40) not null)",
        *inserted("persons", persons()),
        "create table countries (id int not null primary key, words varchar(40) not null)",
        *inserted("countries", list(enumerate(COUNTRIES))),
        "create table wordings (id int not null primary key, text varchar(60) not null)",
        *inserted("wordings", wordings()),
        *DEFINITIONS,
        *[statement for table, names in named.items() for statement in inserted(table, [(at + 1, name) for at, name in enumerate(names)])],
        titles(count),
        *people(people_count),
        *companies(company_count, count),
        *infos(count),
        casts(count, people_count),
        *ties(count, keyword_count),
        *INDEXES,
    ]
