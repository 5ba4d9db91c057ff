"""113 questions to the tables of `films`: 33 families of two to six variants, 3 to 16 joins, the least values as answers.

A family is the tables that it joins, by their aliases; the joins follow from `TABLES`. As in the benchmark whose shape they have, equal
columns are all said to be equal, not only each to its key. A family's variants differ in their conditions, so one family asks for few
rows and for many.
"""

from dataclasses import dataclass

# By alias: the table, and whose keys its columns hold.
TABLES = {
    "t": ("title", {"kind_id": "kt"}),
    "t2": ("title", {"kind_id": "kt2"}),
    "mc": ("movie_companies", {"movie_id": "t", "company_id": "cn", "company_type_id": "ct"}),
    "mc2": ("movie_companies", {"movie_id": "t2", "company_id": "cn2"}),
    "mi": ("movie_info", {"movie_id": "t", "info_type_id": "it"}),
    "mii": ("movie_info_idx", {"movie_id": "t", "info_type_id": "iti"}),
    "mii2": ("movie_info_idx", {"movie_id": "t2", "info_type_id": "iti2"}),
    "mk": ("movie_keyword", {"movie_id": "t", "keyword_id": "k"}),
    "ml": ("movie_link", {"movie_id": "t", "linked_movie_id": "t2", "link_type_id": "lt"}),
    "akt": ("aka_title", {"movie_id": "t"}),
    "cc": ("complete_cast", {"movie_id": "t", "subject_id": "cct", "status_id": "ccs"}),
    "ci": ("cast_info", {"movie_id": "t", "person_id": "n", "person_role_id": "chn", "role_id": "rt"}),
    "an": ("aka_name", {"person_id": "n"}),
    "pi": ("person_info", {"person_id": "n", "info_type_id": "itp"}),
    "n": ("name", {}),
    "chn": ("char_name", {}),
    "cn": ("company_name", {}),
    "cn2": ("company_name", {}),
    "k": ("keyword", {}),
    "ct": ("company_type", {}),
    "rt": ("role_type", {}),
    "kt": ("kind_type", {}),
    "kt2": ("kind_type", {}),
    "lt": ("link_type", {}),
    "it": ("info_type", {}),
    "iti": ("info_type", {}),
    "iti2": ("info_type", {}),
    "itp": ("info_type", {}),
    "cct": ("comp_cast_type", {}),
    "ccs": ("comp_cast_type", {}),
}


@dataclass(frozen=True)
class Family:
    """Questions that join the same tables and answer the least of the same columns."""

    tables: str
    outputs: str
    always: str
    variants: tuple

    def question(self, variant):
        aliases = self.tables.split()
        outputs = ", ".join(f"min({column}) as least{place}" for place, column in enumerate(self.outputs.split()))
        conditions = [condition for condition in (self.variants[variant], self.always, *joins(aliases)) if condition]
        tables = ", ".join(f"{TABLES[alias][0]} {alias}" for alias in aliases)
        return f"select {outputs} from {tables} where {' and '.join(conditions)}"


def joins(aliases):
    """The equalities between tables: each column with the key it holds, and with the next column that holds it."""
    holders = {}
    for alias in aliases:
        for column, parent in TABLES[alias][1].items():
            holders.setdefault(parent, []).append(f"{alias}.{column}")
    found = []
    for parent, columns in holders.items():
        if parent in aliases:
            found += [f"{column} = {parent}.id" for column in columns]
        found += [f"{left} = {right}" for left, right in zip(columns, columns[1:])]
    return found


FAMILIES = (
    Family(
        "ct iti t mc mii",
        "mc.note t.title t.production_year",
        "ct.kind = 'production companies'",
        (
            "iti.info = 'top rank' and mc.note not like '%(tv)' and (mc.note like '%(co production)%' or mc.note like '%(theatrical)%')",
            "iti.info = 'bottom rank' and mc.note not like '%(theatrical)' and t.production_year between 2000 and 2012",
            "iti.info = 'top rank' and mc.note is null and t.production_year > 2012",
            "iti.info = 'bottom rank' and mc.note is not null and t.production_year > 1970",
        ),
    ),
    Family(
        "cn k t mc mk",
        "t.title",
        "k.keyword = 'character name in title'",
        ("cn.country_code = 'de'", "cn.country_code = 'bg'", "cn.country_code = 'au'", "cn.country_code = 'us'"),
    ),
    Family(
        "k t mi mk",
        "t.title",
        "k.keyword like '%sequel%'",
        (
            "mi.info in ('sweden', 'norway', 'germany', 'denmark', 'swedish', 'norwegian', 'german', 'danish') and t.production_year > 2005",
            "mi.info in ('norway', 'spain', 'canada') and t.production_year > 1990",
            "mi.info in ('usa', 'english', 'uk', 'france', 'german', 'swedish') and t.production_year > 1990",
        ),
    ),
    Family(
        "iti k t mii mk",
        "mii.info t.title",
        "iti.info = 'rating' and k.keyword like '%sequel%'",
        (
            "mii.info > '5.0' and t.production_year > 2005",
            "mii.info > '9.0' and t.production_year > 2010",
            "mii.info > '2.0' and t.production_year > 1990",
        ),
    ),
    Family(
        "ct it t mc mi",
        "t.title",
        "",
        (
            "ct.kind = 'distributors' and mc.note like '%(theatrical)%' and mc.note like '%(france)%' "
            "and mi.info in ('sweden', 'germany', 'danish', 'norwegian') and t.production_year > 2005",
            "ct.kind = 'special effects companies' and mc.note like '%(tv)' and mi.info in ('usa', 'english') "
            "and t.production_year > 2012",
            "ct.kind = 'production companies' and mc.note not like '%(tv)%' and mc.note like '%(usa)%' "
            "and mi.info in ('sweden', 'norway', 'germany', 'usa', 'english', 'german') and t.production_year > 1990",
        ),
    ),
    Family(
        "k n t ci mk",
        "k.keyword n.name t.title",
        "",
        (
            "k.keyword = 'superhero' and n.name like '%downey%' and t.production_year > 2010",
            "k.keyword in ('superhero', 'sequel', 'second part', 'based on novel', 'fight', 'violence') and n.name like '%downey%a%' "
            "and t.production_year > 2014",
            "k.keyword = 'superhero' and n.name like '%dana%' and t.production_year > 2014",
            "k.keyword in ('superhero', 'sequel', 'second part', 'based on novel', 'fight', 'violence') and n.name like '%dana%' "
            "and t.production_year > 2000",
            "k.keyword = 'love' and n.name like 'downey%' and t.production_year > 2000",
            "k.keyword in ('superhero', 'sequel', 'love', 'murder', 'fight', 'violence', 'hero', 'police') and t.production_year > 2000",
        ),
    ),
    Family(
        "itp lt n t an ci ml pi",
        "n.name t.title",
        "itp.info = 'mini biography'",
        (
            "an.name like '%a%' and lt.link = 'features' and n.name_code between 'a' and 'f' and (n.gender = 'm' or (n.gender = 'f' "
            "and n.name like 'b%')) and pi.note like '%an%' and t.production_year between 1980 and 1995",
            "an.name like '%g%' and lt.link = 'featured in' and n.name_code like 'd%' and n.gender = 'm' and pi.note is not null "
            "and t.production_year between 1980 and 2010",
            "(an.name like '%a%' or an.name like 'b%') and lt.link in ('references', 'referenced in', 'features', 'featured in') "
            "and n.name_code between 'a' and 'h' and pi.note is not null and t.production_year between 1980 and 2015",
        ),
    ),
    Family(
        "cn n rt t an ci mc",
        "an.name t.title",
        "",
        (
            "ci.note = '(voice)' and cn.country_code = 'jp' and mc.note like '%(japan)%' and mc.note not like '%(usa)%' "
            "and n.name like '%la%' and n.name not like '%ol%' and rt.role = 'actress'",
            "ci.note = '(voice)' and cn.country_code = 'jp' and mc.note like '%(japan)%' and (mc.note like '%(2006)%' or mc.note like "
            "'%(2007)%' or mc.note like '%(co production)%') and rt.role = 'actress' and t.production_year between 2006 and 2017 "
            "and (t.title like 'w%' or t.title like 'dragon%' or t.title like 'day%')",
            "cn.country_code = 'us' and rt.role = 'writer' and n.name_code < 'd'",
            "cn.country_code = 'us' and rt.role = 'costume designer'",
        ),
    ),
    Family(
        "chn cn n rt t an ci mc",
        "an.name chn.name t.title",
        "n.gender = 'f' and rt.role = 'actress' and cn.country_code = 'us'",
        (
            "ci.note in ('(voice)', '(voice) (uncredited)') and mc.note is not null and (mc.note like '%(usa)%' or mc.note like "
            "'%(russia)%') and n.name like '%an%' and t.production_year between 2005 and 2015",
            "ci.note = '(voice)' and mc.note like '%(20__)%' and mc.note like '%(usa)%' and n.name like '%anna%' "
            "and t.production_year between 1990 and 2018",
            "ci.note in ('(voice)', '(uncredited)') and n.name like '%an%'",
            "ci.note in ('(voice)', '(as himself)', '(voice) (uncredited)')",
        ),
    ),
    Family(
        "chn cn ct rt t ci mc",
        "chn.name t.title",
        "",
        (
            "ci.note like '%(voice)%' and ci.note like '%(uncredited)%' and cn.country_code = 'ru' and rt.role = 'actor' "
            "and t.production_year > 2005",
            "ci.note like '%(producer)%' and cn.country_code = 'ru' and rt.role = 'producer' and t.production_year > 2010",
            "ci.note like '%(voice)%' and cn.country_code = 'us' and t.production_year > 1990",
        ),
    ),
    Family(
        "cn ct k lt t mc mk ml",
        "cn.name lt.link t.title",
        "cn.country_code <> 'pl'",
        (
            "(cn.name like '%film%' or cn.name like '%studios%') and ct.kind = 'production companies' and k.keyword = 'sequel' "
            "and lt.link like '%follow%' and mc.note is null and t.production_year between 1950 and 2000",
            "(cn.name like '%film%' or cn.name like '%pictures%') and ct.kind = 'production companies' and k.keyword = 'murder' "
            "and lt.link like '%follows%' and mc.note is null and t.production_year between 2000 and 2010",
            "(cn.name like 'winter%' or cn.name like 'gold%') and ct.kind <> 'production companies' and k.keyword in "
            "('sequel', 'revenge', 'based on novel', 'love') and mc.note is not null and t.production_year > 1950",
            "ct.kind <> 'production companies' and k.keyword in ('sequel', 'revenge', 'murder', 'love') and mc.note is not null "
            "and t.production_year > 1950",
        ),
    ),
    Family(
        "cn ct it iti t mc mi mii",
        "cn.name mii.info t.title",
        "cn.country_code = 'us'",
        (
            "ct.kind = 'production companies' and it.info = 'genres' and iti.info = 'rating' and mi.info in ('drama', 'horror') "
            "and mii.info > '8.0' and t.production_year between 2005 and 2008",
            "ct.kind in ('production companies', 'distributors') and it.info = 'budget' and iti.info = 'bottom rank' "
            "and t.production_year > 1990",
            "ct.kind = 'production companies' and it.info = 'genres' and iti.info = 'rating' and mi.info in ('drama', 'horror', 'western', "
            "'family') and mii.info > '7.0' and t.production_year between 2000 and 2010",
        ),
    ),
    Family(
        "cn ct it iti kt t mc mi mii",
        "mi.info mii.info t.title",
        "ct.kind = 'production companies' and iti.info = 'rating' and it.info = 'release dates' and kt.kind = 'movie'",
        (
            "cn.country_code = 'de'",
            "cn.country_code = 'us' and (t.title like '%champion%' or t.title like '%lost%')",
            "cn.country_code = 'us' and (t.title like 'champion%' or t.title like 'lost%') and mii.info < '7.5'",
            "cn.country_code = 'us'",
        ),
    ),
    Family(
        "it iti k kt t mi mii mk",
        "mii.info t.title",
        "it.info = 'countries' and iti.info = 'rating'",
        (
            "k.keyword in ('murder', 'blood', 'violence', 'gore') and kt.kind = 'movie' and mi.info in ('sweden', 'norway', 'germany', "
            "'denmark', 'usa') and mii.info < '8.5' and t.production_year > 2010",
            "k.keyword in ('murder', 'revenge') and kt.kind = 'movie' and mi.info in ('sweden', 'germany', 'usa') and mii.info > '6.0' "
            "and t.production_year > 2010 and (t.title like '%dark%' or t.title like '%dead%' or t.title like '%night%')",
            "k.keyword is not null and k.keyword in ('murder', 'blood', 'violence', 'gore', 'love') and kt.kind in ('movie', 'episode') "
            "and mi.info in ('sweden', 'norway', 'germany', 'denmark', 'usa', 'uk') and mii.info < '8.5' and t.production_year > 2005",
        ),
    ),
    Family(
        "cn ct it k t akt mc mi mk",
        "mi.info t.title",
        "it.info = 'release dates'",
        (
            "cn.country_code = 'us' and mc.note like '%(20__)%' and mc.note like '%(theatrical)%' and mi.info like 'usa %' "
            "and mi.note is not null and t.production_year > 2000",
            "cn.country_code = 'us' and cn.name like 'winter%' and mc.note like '%(19__)%' and mi.info like 'usa %' "
            "and t.production_year between 1995 and 2015",
            "cn.country_code = 'us' and mi.info like 'usa on%' and t.production_year > 1990",
            "cn.country_code = 'us' and mi.note like '%note%' and t.production_year > 1990",
        ),
    ),
    Family(
        "cn k n t an ci mc mk",
        "an.name t.title",
        "k.keyword = 'character name in title'",
        (
            "cn.country_code = 'us' and t.episode_no between 5 and 9",
            "cn.country_code = 'us'",
            "cn.country_code = 'us' and t.episode_no < 10",
            "cn.country_code = 'us' and t.episode_no >= 5 and t.episode_no < 20",
        ),
    ),
    Family(
        "cn k n t ci mc mk",
        "n.name n.name_code",
        "k.keyword = 'character name in title'",
        (
            "cn.country_code = 'us' and n.name like 'b%'",
            "n.name like 'z%'",
            "n.name like 'x%'",
            "n.name like '%bert%'",
            "cn.country_code = 'us'",
            "n.name like '%b%'",
        ),
    ),
    Family(
        "it iti n t ci mi mii",
        "mi.info mii.info t.title",
        "iti.info = 'votes'",
        (
            "ci.note in ('(producer)', '(executive producer)') and it.info = 'budget' and n.gender = 'm' and n.name like '%tim%'",
            "ci.note in ('(writer)', '(story)', '(novel)') and it.info = 'genres' and mi.info in ('horror', 'thriller') and mi.note is null "
            "and mii.info > '0400000' and n.gender = 'f' and t.production_year between 2008 and 2014",
            "ci.note in ('(writer)', '(story)', '(novel)') and it.info = 'genres' and mi.info in ('horror', 'action', 'thriller', 'crime', "
            "'war', 'science fiction') and n.gender = 'm'",
        ),
    ),
    Family(
        "chn cn it n rt t an ci mc mi",
        "n.name t.title",
        "it.info = 'release dates' and n.gender = 'f' and rt.role = 'actress' and cn.country_code = 'us'",
        (
            "ci.note in ('(voice)', '(voice) (uncredited)') and mc.note is not null and (mc.note like '%(usa)%' or mc.note like "
            "'%(russia)%') and mi.info like '%usa%' and n.name like '%an%' and t.production_year between 2005 and 2009",
            "ci.note = '(voice)' and mc.note like '%(20__)%' and mi.info like 'usa in%' and n.name like '%a%' "
            "and t.production_year between 2007 and 2008 and t.title like '%castle%'",
            "ci.note in ('(voice)', '(as himself)', '(uncredited)') and mi.info like 'japan%' and n.name like '%an%' "
            "and t.production_year > 2000",
            "ci.note in ('(voice)', '(as himself)', '(uncredited)') and t.production_year > 2000",
        ),
    ),
    Family(
        "cct ccs chn k kt n t cc ci mk",
        "t.title",
        "cct.kind = 'cast' and ccs.kind like '%complete%' and kt.kind = 'movie'",
        (
            "chn.name not like '%sword%' and (chn.name like '%tower%' or chn.name like '%iron%') and k.keyword in ('superhero', 'sequel', "
            "'second part', 'violence', 'hero') and t.production_year > 1950",
            "chn.name like '%man%' and k.keyword in ('superhero', 'sequel', 'second part', 'fight') and n.name like '%d%' "
            "and t.production_year > 1990",
            "(chn.name like '%man%' or chn.name like '%king%') and k.keyword in ('superhero', 'web', 'martial arts', 'fight', 'violence', "
            "'love', 'murder') and t.production_year > 2000",
        ),
    ),
    Family(
        "cn ct it k lt t mc mi mk ml",
        "cn.name lt.link t.title",
        "cn.country_code <> 'pl' and ct.kind = 'production companies' and lt.link like '%follow%' and mc.note is null",
        (
            "(cn.name like '%film%' or cn.name like '%winter%') and k.keyword = 'sequel' and mi.info in ('sweden', 'norway', 'germany', "
            "'swedish', 'german') and t.production_year between 1950 and 2000",
            "k.keyword in ('sequel', 'murder', 'love') and mi.info in ('germany', 'german', 'usa') "
            "and t.production_year between 2000 and 2010",
            "k.keyword in ('sequel', 'love', 'murder', 'revenge') and mi.info in ('sweden', 'norway', 'germany', 'usa', 'english', 'german') "
            "and t.production_year between 1950 and 2010",
        ),
    ),
    Family(
        "cn ct it iti k kt t mc mi mii mk",
        "cn.name mii.info t.title",
        "cn.country_code <> 'us' and it.info = 'countries' and iti.info = 'rating' and kt.kind in ('movie', 'episode')",
        (
            "k.keyword in ('murder', 'violence', 'blood', 'gore') and mc.note not like '%(usa)%' and mc.note like '%(20__)%' "
            "and mi.info in ('germany', 'swedish', 'usa') and mii.info < '7.0' and t.production_year > 2008",
            "k.keyword in ('murder', 'gore', 'love') and mc.note not like '%(usa)%' and mc.note like '%(20__)%' and mi.info = 'germany' "
            "and mii.info < '8.0' and t.production_year > 1990",
            "k.keyword in ('murder', 'violence', 'blood', 'gore') and mc.note like '%(theatrical)%' and mi.info in ('sweden', 'norway', "
            "'germany', 'denmark', 'usa', 'uk') and mii.info < '8.5' and t.production_year > 2005",
            "k.keyword in ('murder', 'love', 'blood', 'revenge') and mi.info in ('sweden', 'norway', 'germany', 'denmark', 'france', 'usa') "
            "and mii.info < '8.5' and t.production_year > 2005",
        ),
    ),
    Family(
        "ccs cn ct it k kt t cc mc mi mk",
        "kt.kind t.title",
        "ccs.kind = 'complete and verified' and cn.country_code = 'us' and it.info = 'release dates'",
        (
            "kt.kind = 'movie' and mi.note is not null and mi.info like 'usa %' and t.production_year > 2000",
            "k.keyword in ('murder', 'love', 'dream', 'orphan') and kt.kind = 'movie' and mi.info like 'usa %' and t.production_year > 2000",
            "kt.kind in ('movie', 'tv movie', 'video movie', 'video game') and (mi.info like 'usa %' or mi.info like 'uk %') "
            "and t.production_year > 1990",
        ),
    ),
    Family(
        "chn cn it k n rt t an ci mc mi mk",
        "chn.name n.name t.title",
        "ci.note in ('(voice)', '(as himself)', '(voice) (uncredited)') and cn.country_code = 'us' and it.info = 'release dates' "
        "and n.gender = 'f' and rt.role = 'actress'",
        (
            "k.keyword in ('hero', 'martial arts', 'fight') and (mi.info like 'japan%' or mi.info like 'usa%') and n.name like '%an%' "
            "and t.production_year > 2010",
            "k.keyword in ('hero', 'martial arts', 'fight', 'computer', 'murder') and mi.info like 'usa%' "
            "and n.name like '%an%' and t.production_year > 2000 and t.title like 's%'",
        ),
    ),
    Family(
        "it iti k n t ci mi mii mk",
        "mi.info mii.info n.name t.title",
        "ci.note in ('(writer)', '(story)', '(novel)') and it.info = 'genres' and iti.info = 'votes' and n.gender = 'm'",
        (
            "k.keyword in ('murder', 'blood', 'gore', 'female lead', 'hospital') and mi.info = 'horror'",
            "k.keyword in ('murder', 'blood', 'gore') and mi.info = 'horror' and t.production_year > 1990 and t.title like 'm%'",
            "k.keyword in ('murder', 'violence', 'blood', 'gore', 'female lead', 'hospital') and mi.info in ('horror', 'action', "
            "'science fiction', 'thriller', 'crime', 'war')",
        ),
    ),
    Family(
        "cct ccs chn iti k kt n t cc ci mii mk",
        "chn.name mii.info n.name t.title",
        "cct.kind = 'cast' and ccs.kind like '%complete%' and iti.info = 'rating' and kt.kind = 'movie'",
        (
            "(chn.name like '%man%' or chn.name like '%moon%') and k.keyword in ('superhero', 'web', 'fight', 'violence', 'love', 'murder') "
            "and mii.info > '7.0' and t.production_year > 2000",
            "chn.name like '%man%' and k.keyword in ('superhero', 'sequel', 'fight') and mii.info > '8.0' and t.production_year > 2005",
            "(chn.name like '%man%' or chn.name like '%queen%') and k.keyword in ('superhero', 'martial arts', 'web', 'fight', 'violence', "
            "'love', 'murder', 'revenge') and t.production_year > 2000",
        ),
    ),
    Family(
        "cct ccs cn ct it k lt t cc mc mi mk ml",
        "cn.name lt.link t.title",
        "cn.country_code <> 'pl' and ct.kind = 'production companies' and lt.link like '%follow%' and mc.note is null",
        (
            "cct.kind in ('cast', 'crew') and ccs.kind = 'complete' and cn.name like '%film%' and k.keyword in "
            "('sequel', 'love', 'murder', 'revenge') and mi.info in ('france', 'germany', 'usa', 'english') and t.production_year > 1950",
            "cct.kind in ('cast', 'crew') and ccs.kind = 'complete' and k.keyword in ('sequel', 'murder', 'love') and mi.info in ('sweden', "
            "'germany', 'usa', 'english') and t.production_year between 1990 and 2010",
            "cct.kind = 'cast' and ccs.kind like 'complete%' and k.keyword in ('sequel', 'murder', 'love', 'revenge') and mi.info in "
            "('sweden', 'norway', 'germany', 'usa', 'uk', 'english', 'german') and t.production_year between 1950 and 2010",
        ),
    ),
    Family(
        "cct ccs cn ct it iti k kt t cc mc mi mii mk",
        "cn.name mii.info t.title",
        "cn.country_code <> 'us' and it.info = 'countries' and iti.info = 'rating' and kt.kind in ('movie', 'episode')",
        (
            "cct.kind = 'crew' and ccs.kind <> 'complete and verified' and k.keyword in ('murder', 'violence', 'blood', 'love') "
            "and mc.note not like '%(usa)%' and mi.info in ('sweden', 'norway', 'germany', 'usa') and mii.info < '8.5' "
            "and t.production_year > 2000",
            "cct.kind = 'crew' and ccs.kind <> 'complete and verified' and k.keyword in ('murder', 'violence', 'blood') and mc.note not like "
            "'%(usa)%' and mi.info in ('sweden', 'germany', 'uk', 'france') and mii.info > '6.5' and t.production_year > 1980",
            "cct.kind = 'cast' and ccs.kind = 'complete' and k.keyword in ('murder', 'violence', 'blood', 'love', 'revenge') and mi.info in "
            "('sweden', 'norway', 'germany', 'denmark', 'usa', 'uk', 'france') and mii.info < '8.5' and t.production_year > 2005",
        ),
    ),
    Family(
        "cct ccs chn cn it itp k n rt t an cc ci mc mi mk pi",
        "chn.name n.name t.title",
        "cct.kind = 'cast' and ccs.kind = 'complete and verified' and cn.country_code = 'us' and it.info = 'release dates' "
        "and n.gender = 'f' and rt.role = 'actress'",
        (
            "chn.name like '%e%' and ci.note in ('(voice)', '(voice) (uncredited)') and itp.info = 'birth place' and k.keyword in "
            "('love', 'murder') and (mi.info like 'japan%' or mi.info like 'usa%') and n.name like '%a%' and t.production_year > 2000",
            "chn.name like '%e%' and ci.note in ('(voice)', '(as himself)') and itp.info = 'height' and k.keyword in ('murder', "
            "'love', 'orphan') and mi.info like 'usa%' and n.name like '%a%' and t.production_year between 2000 and 2012",
            "ci.note in ('(voice)', '(as himself)', '(uncredited)') and itp.info = 'birth place' and k.keyword in ('murder', 'love', 'computer', "
            "'hero') and (mi.info like 'japan%' or mi.info like 'usa%') and n.name like '%an%' and t.production_year > 2000",
        ),
    ),
    Family(
        "cct ccs it iti k n t cc ci mi mii mk",
        "mi.info mii.info n.name t.title",
        "ccs.kind = 'complete and verified' and ci.note in ('(writer)', '(story)', '(novel)') and it.info = 'genres' and iti.info = 'votes' "
        "and n.gender = 'm'",
        (
            "cct.kind in ('cast', 'crew') and k.keyword in ('murder', 'violence', 'blood', 'gore') and mi.info in ('horror', 'thriller') "
            "and t.production_year > 2000",
            "cct.kind in ('cast', 'crew') and k.keyword in ('murder', 'violence', 'blood', 'love') and mi.info in ('horror', 'thriller', "
            "'drama') and t.production_year > 2000 and (t.title like '%dead%' or t.title like '%night%' or t.title like 'gold%')",
            "cct.kind = 'cast' and k.keyword in ('murder', 'violence', 'blood', 'gore', 'love', 'female lead', 'hospital') and mi.info in "
            "('horror', 'action', 'science fiction', 'thriller', 'crime', 'war', 'drama')",
        ),
    ),
    Family(
        "cn it iti k n t ci mc mi mii mk",
        "mi.info mii.info n.name t.title",
        "ci.note in ('(writer)', '(story)', '(novel)') and it.info = 'genres' and iti.info = 'votes'",
        (
            "cn.name like 'gold%' and k.keyword in ('murder', 'violence', 'blood', 'gore', 'love', 'hospital') and mi.info in ('horror', "
            "'thriller', 'drama') and n.gender = 'm'",
            "cn.name like 'winter%' and mc.note like '%(tv)%' and k.keyword in ('murder', 'violence', 'blood', 'gore', 'love', 'hospital') "
            "and mi.info in ('horror', 'thriller', 'comedy') and n.gender = 'm' and t.production_year > 2000",
            "cn.name like 'w%' and k.keyword in ('murder', 'violence', 'blood', 'gore', 'love', 'female lead', 'hospital') and mi.info in "
            "('horror', 'action', 'science fiction', 'thriller', 'crime', 'war', 'comedy')",
        ),
    ),
    Family(
        "k lt t t2 mk ml",
        "lt.link t.title t2.title",
        "",
        ("k.keyword = 'superhero'", "k.keyword = 'murder'"),
    ),
    Family(
        "cn cn2 iti iti2 kt kt2 lt t t2 mc mc2 mii mii2 ml",
        "cn.name cn2.name mii.info mii2.info t.title t2.title",
        "iti.info = 'rating' and iti2.info = 'rating'",
        (
            "cn.country_code = 'us' and kt.kind = 'movie' and kt2.kind = 'movie' and lt.link in ('follows', 'followed by', 'remake of') "
            "and mii2.info < '8.0' and t2.production_year between 2005 and 2015",
            "cn.country_code = 'de' and kt.kind = 'movie' and kt2.kind = 'movie' and lt.link like '%follow%' and mii2.info < '9.0' "
            "and t2.production_year = 2007",
            "cn.country_code <> 'us' and kt.kind in ('movie', 'episode') and kt2.kind in ('movie', 'episode') and lt.link in ('follows', "
            "'followed by', 'remake of', 'references') and mii2.info < '8.5' and t2.production_year between 2000 and 2018",
        ),
    ),
)

# By name, `1a`: the question.
QUERIES = {
    f"{number}{'abcdef'[variant]}": family.question(variant)
    for number, family in enumerate(FAMILIES, 1)
    for variant in range(len(family.variants))
}
