//! The languages of SQL Server: their date formats, and the language of the session that a thread serves.
//!
//! Names, orders of a date and first days of the week are those of `sys.syslanguages` (sql-docs, "sys.syslanguages", "sp_helplanguage",
//! "SET LANGUAGE"). Messages are in English whatever the language.
//!
//! Conversions happen in many places. So the session's language belongs to the thread while it serves the session (like the request,
//! `engine::cancel`), and is not a parameter of each conversion. A plan compiled under another language is not used (`state::PlanOptions`),
//! because its constants were converted at compilation.

use super::moment_parse::DateOrder;

#[derive(Debug)]
pub struct Language {
    /// `langid`, its place among [`LANGUAGES`].
    pub id: u8,
    pub name: &'static str,
    /// Its name in English.
    pub alias: &'static str,
    /// DATEFORMAT that SET LANGUAGE sets.
    pub order: DateOrder,
    /// DATEFIRST that SET LANGUAGE sets: 1 (Monday) to 7.
    pub date_first: u8,
    pub lcid: i32,
    /// `msglangid`: whose messages its sessions get from SQL Server.
    pub message_language: i16,
    /// Names of the months, with commas between.
    pub months: &'static str,
    pub short_months: &'static str,
    /// Names of the days, Monday first.
    pub days: &'static str,
}

use DateOrder::{DayMonthYear as Dmy, MonthDayYear as Mdy, YearMonthDay as Ymd};

const ENGLISH_MONTHS: &str = "January,February,March,April,May,June,July,August,September,October,November,December";
const ENGLISH_SHORT: &str = "Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec";
const ENGLISH_DAYS: &str = "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday";
const PORTUGUESE_MONTHS: &str =
    "Janeiro,Fevereiro,Março,Abril,Maio,Junho,Julho,Agosto,Setembro,Outubro,Novembro,Dezembro";
const PORTUGUESE_SHORT: &str = "Jan,Fev,Mar,Abr,Mai,Jun,Jul,Ago,Set,Out,Nov,Dez";
const PORTUGUESE_DAYS: &str = "segunda-feira,terça-feira,quarta-feira,quinta-feira,sexta-feira,sábado,domingo";
const NORWEGIAN_MONTHS: &str = "januar,februar,mars,april,mai,juni,juli,august,september,oktober,november,desember";
const NORWEGIAN_SHORT: &str = "jan,feb,mar,apr,mai,jun,jul,aug,sep,okt,nov,des";
const NORWEGIAN_DAYS: &str = "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag";
const ROMAN: &str = "I,II,III,IV,V,VI,VII,VIII,IX,X,XI,XII";
const NUMBERS: &str = "01,02,03,04,05,06,07,08,09,10,11,12";
const CHINESE_DAYS: &str = "星期一,星期二,星期三,星期四,星期五,星期六,星期日";

macro_rules! languages {
    ($(($id:literal, $name:literal, $alias:literal, $order:expr, $first:literal, $lcid:literal, $messages:literal,
        $months:expr, $short:expr, $days:expr)),* $(,)?) => {
        &[$(Language {
            id: $id, name: $name, alias: $alias, order: $order, date_first: $first, lcid: $lcid, message_language: $messages,
            months: $months, short_months: $short, days: $days,
        }),*]
    };
}

/// Every language, by its id.
pub const LANGUAGES: &[Language] = languages![
    (
        0,
        "us_english",
        "English",
        Mdy,
        7,
        1033,
        1033,
        ENGLISH_MONTHS,
        ENGLISH_SHORT,
        ENGLISH_DAYS
    ),
    (
        1,
        "Deutsch",
        "German",
        Dmy,
        1,
        1031,
        1031,
        "Januar,Februar,März,April,Mai,Juni,Juli,August,September,Oktober,November,Dezember",
        "Jan,Feb,Mär,Apr,Mai,Jun,Jul,Aug,Sep,Okt,Nov,Dez",
        "Montag,Dienstag,Mittwoch,Donnerstag,Freitag,Samstag,Sonntag"
    ),
    (
        2,
        "Français",
        "French",
        Dmy,
        1,
        1036,
        1036,
        "janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,novembre,décembre",
        "janv,févr,mars,avr,mai,juin,juil,août,sept,oct,nov,déc",
        "lundi,mardi,mercredi,jeudi,vendredi,samedi,dimanche"
    ),
    (
        3,
        "日本語",
        "Japanese",
        Ymd,
        7,
        1041,
        1041,
        NUMBERS,
        NUMBERS,
        "月曜日,火曜日,水曜日,木曜日,金曜日,土曜日,日曜日"
    ),
    (
        4,
        "Dansk",
        "Danish",
        Dmy,
        1,
        1030,
        1030,
        "januar,februar,marts,april,maj,juni,juli,august,september,oktober,november,december",
        "jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec",
        NORWEGIAN_DAYS
    ),
    (
        5,
        "Español",
        "Spanish",
        Dmy,
        1,
        3082,
        3082,
        "Enero,Febrero,Marzo,Abril,Mayo,Junio,Julio,Agosto,Septiembre,Octubre,Noviembre,Diciembre",
        "Ene,Feb,Mar,Abr,May,Jun,Jul,Ago,Sep,Oct,Nov,Dic",
        "Lunes,Martes,Miércoles,Jueves,Viernes,Sábado,Domingo"
    ),
    (
        6,
        "Italiano",
        "Italian",
        Dmy,
        1,
        1040,
        1040,
        "gennaio,febbraio,marzo,aprile,maggio,giugno,luglio,agosto,settembre,ottobre,novembre,dicembre",
        "gen,feb,mar,apr,mag,giu,lug,ago,set,ott,nov,dic",
        "lunedì,martedì,mercoledì,giovedì,venerdì,sabato,domenica"
    ),
    (
        7,
        "Nederlands",
        "Dutch",
        Dmy,
        1,
        1043,
        1043,
        "januari,februari,maart,april,mei,juni,juli,augustus,september,oktober,november,december",
        "jan,feb,mrt,apr,mei,jun,jul,aug,sep,okt,nov,dec",
        "maandag,dinsdag,woensdag,donderdag,vrijdag,zaterdag,zondag"
    ),
    (
        8,
        "Norsk",
        "Norwegian",
        Dmy,
        1,
        2068,
        2068,
        NORWEGIAN_MONTHS,
        NORWEGIAN_SHORT,
        NORWEGIAN_DAYS
    ),
    (
        9,
        "Português",
        "Portuguese",
        Dmy,
        7,
        2070,
        2070,
        PORTUGUESE_MONTHS,
        PORTUGUESE_SHORT,
        PORTUGUESE_DAYS
    ),
    (
        10,
        "Suomi",
        "Finnish",
        Dmy,
        1,
        1035,
        1035,
        "tammikuuta,helmikuuta,maaliskuuta,huhtikuuta,toukokuuta,kesäkuuta,heinäkuuta,elokuuta,syyskuuta,lokakuuta,marraskuuta,joulukuuta",
        "tammi,helmi,maalis,huhti,touko,kesä,heinä,elo,syys,loka,marras,joulu",
        "maanantai,tiistai,keskiviikko,torstai,perjantai,lauantai,sunnuntai"
    ),
    (
        11,
        "Svenska",
        "Swedish",
        Ymd,
        1,
        1053,
        1053,
        "januari,februari,mars,april,maj,juni,juli,augusti,september,oktober,november,december",
        "jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec",
        "måndag,tisdag,onsdag,torsdag,fredag,lördag,söndag"
    ),
    (
        12,
        "čeština",
        "Czech",
        Dmy,
        1,
        1029,
        1029,
        "leden,únor,březen,duben,květen,červen,červenec,srpen,září,říjen,listopad,prosinec",
        ROMAN,
        "pondělí,úterý,středa,čtvrtek,pátek,sobota,neděle"
    ),
    (
        13,
        "magyar",
        "Hungarian",
        Ymd,
        1,
        1038,
        1038,
        "január,február,március,április,május,június,július,augusztus,szeptember,október,november,december",
        "jan,febr,márc,ápr,máj,jún,júl,aug,szept,okt,nov,dec",
        "hétfő,kedd,szerda,csütörtök,péntek,szombat,vasárnap"
    ),
    (
        14,
        "polski",
        "Polish",
        Dmy,
        1,
        1045,
        1045,
        "styczeń,luty,marzec,kwiecień,maj,czerwiec,lipiec,sierpień,wrzesień,październik,listopad,grudzień",
        ROMAN,
        "poniedziałek,wtorek,środa,czwartek,piątek,sobota,niedziela"
    ),
    (
        15,
        "română",
        "Romanian",
        Dmy,
        1,
        1048,
        1048,
        "ianuarie,februarie,martie,aprilie,mai,iunie,iulie,august,septembrie,octombrie,noiembrie,decembrie",
        "Ian,Feb,Mar,Apr,Mai,Iun,Iul,Aug,Sep,Oct,Nov,Dec",
        "luni,marţi,miercuri,joi,vineri,sîmbătă,duminică"
    ),
    (
        16,
        "hrvatski",
        "Croatian",
        Ymd,
        1,
        1050,
        1050,
        "siječanj,veljača,ožujak,travanj,svibanj,lipanj,srpanj,kolovoz,rujan,listopad,studeni,prosinac",
        "sij,vel,ožu,tra,svi,lip,srp,kol,ruj,lis,stu,pro",
        "ponedjeljak,utorak,srijeda,četvrtak,petak,subota,nedjelja"
    ),
    (
        17,
        "slovenčina",
        "Slovak",
        Dmy,
        1,
        1051,
        1051,
        "január,február,marec,apríl,máj,jún,júl,august,september,október,november,december",
        ROMAN,
        "pondelok,utorok,streda,štvrtok,piatok,sobota,nedeľa"
    ),
    (
        18,
        "slovenski",
        "Slovenian",
        Dmy,
        1,
        1060,
        1060,
        "januar,februar,marec,april,maj,junij,julij,avgust,september,oktober,november,december",
        "jan,feb,mar,apr,maj,jun,jul,avg,sept,okt,nov,dec",
        "ponedeljek,torek,sreda,četrtek,petek,sobota,nedelja"
    ),
    (
        19,
        "ελληνικά",
        "Greek",
        Dmy,
        1,
        1032,
        1032,
        "Ιανουαρίου,Φεβρουαρίου,Μαρτίου,Απριλίου,Μαΐου,Ιουνίου,Ιουλίου,Αυγούστου,Σεπτεμβρίου,Οκτωβρίου,Νοεμβρίου,Δεκεμβρίου",
        "Ιαν,Φεβ,Μαρ,Απρ,Μαϊ,Ιουν,Ιουλ,Αυγ,Σεπ,Οκτ,Νοε,Δεκ",
        "Δευτέρα,Τρίτη,Τετάρτη,Πέμπτη,Παρασκευή,Σάββατο,Κυριακή"
    ),
    (
        20,
        "български",
        "Bulgarian",
        Dmy,
        1,
        1026,
        1026,
        "януари,февруари,март,април,май,юни,юли,август,септември,октомври,ноември,декември",
        "януари,февруари,март,април,май,юни,юли,август,септември,октомври,ноември,декември",
        "понеделник,вторник,сряда,четвъртък,петък,събота,неделя"
    ),
    (
        21,
        "русский",
        "Russian",
        Dmy,
        1,
        1049,
        1049,
        "Январь,Февраль,Март,Апрель,Май,Июнь,Июль,Август,Сентябрь,Октябрь,Ноябрь,Декабрь",
        "янв,фев,мар,апр,май,июн,июл,авг,сен,окт,ноя,дек",
        "понедельник,вторник,среда,четверг,пятница,суббота,воскресенье"
    ),
    (
        22,
        "Türkçe",
        "Turkish",
        Dmy,
        1,
        1055,
        1055,
        "Ocak,Şubat,Mart,Nisan,Mayıs,Haziran,Temmuz,Ağustos,Eylül,Ekim,Kasım,Aralık",
        "Oca,Şub,Mar,Nis,May,Haz,Tem,Ağu,Eyl,Eki,Kas,Ara",
        "Pazartesi,Salı,Çarşamba,Perşembe,Cuma,Cumartesi,Pazar"
    ),
    (
        23,
        "British",
        "British English",
        Dmy,
        1,
        2057,
        1033,
        ENGLISH_MONTHS,
        ENGLISH_SHORT,
        ENGLISH_DAYS
    ),
    (
        24,
        "eesti",
        "Estonian",
        Dmy,
        1,
        1061,
        1061,
        "jaanuar,veebruar,märts,aprill,mai,juuni,juuli,august,september,oktoober,november,detsember",
        "jaan,veebr,märts,apr,mai,juuni,juuli,aug,sept,okt,nov,dets",
        "esmaspäev,teisipäev,kolmapäev,neljapäev,reede,laupäev,pühapäev"
    ),
    (
        25,
        "latviešu",
        "Latvian",
        Ymd,
        1,
        1062,
        1062,
        "janvāris,februāris,marts,aprīlis,maijs,jūnijs,jūlijs,augusts,septembris,oktobris,novembris,decembris",
        "jan,feb,mar,apr,mai,jūn,jūl,aug,sep,okt,nov,dec",
        "pirmdiena,otrdiena,trešdiena,ceturtdiena,piektdiena,sestdiena,svētdiena"
    ),
    (
        26,
        "lietuvių",
        "Lithuanian",
        Ymd,
        1,
        1063,
        1063,
        "sausis,vasaris,kovas,balandis,gegužė,birželis,liepa,rugpjūtis,rugsėjis,spalis,lapkritis,gruodis",
        "sau,vas,kov,bal,geg,bir,lie,rgp,rgs,spl,lap,grd",
        "pirmadienis,antradienis,trečiadienis,ketvirtadienis,penktadienis,šeštadienis,sekmadienis"
    ),
    (
        27,
        "Português (Brasil)",
        "Brazilian",
        Dmy,
        7,
        1046,
        1046,
        PORTUGUESE_MONTHS,
        PORTUGUESE_SHORT,
        PORTUGUESE_DAYS
    ),
    (
        28,
        "繁體中文",
        "Traditional Chinese",
        Ymd,
        7,
        1028,
        1028,
        NUMBERS,
        NUMBERS,
        CHINESE_DAYS
    ),
    (
        29,
        "한국어",
        "Korean",
        Ymd,
        7,
        1042,
        1042,
        NUMBERS,
        NUMBERS,
        "월요일,화요일,수요일,목요일,금요일,토요일,일요일"
    ),
    (
        30,
        "简体中文",
        "Simplified Chinese",
        Ymd,
        7,
        2052,
        2052,
        NUMBERS,
        NUMBERS,
        CHINESE_DAYS
    ),
    (
        31,
        "Arabic",
        "Arabic",
        Dmy,
        1,
        1025,
        1025,
        "Muharram,Safar,Rabie I,Rabie II,Jumada I,Jumada II,Rajab,Shaaban,Ramadan,Shawwal,Thou Alqadah,Thou Alhajja",
        ENGLISH_SHORT,
        ENGLISH_DAYS
    ),
    (
        32,
        "ไทย",
        "Thai",
        Dmy,
        7,
        1054,
        1054,
        "มกราคม,กุมภาพันธ์,มีนาคม,เมษายน,พฤษภาคม,มิถุนายน,กรกฎาคม,สิงหาคม,กันยายน,ตุลาคม,พฤศจิกายน,ธันวาคม",
        "ม.ค.,ก.พ.,มี.ค.,เม.ย.,พ.ค.,มิ.ย.,ก.ค.,ส.ค.,ก.ย.,ต.ค.,พ.ย.,ธ.ค.",
        "จันทร์,อังคาร,พุธ,พฤหัสบดี,ศุกร์,เสาร์,อาทิตย์"
    ),
    (
        33,
        "norsk (bokmål)",
        "Bokmål",
        Dmy,
        1,
        1044,
        1044,
        NORWEGIAN_MONTHS,
        NORWEGIAN_SHORT,
        NORWEGIAN_DAYS
    ),
];

impl Language {
    /// The language with a name or alias, ignoring case.
    pub fn named(name: &str) -> Option<&'static Language> {
        let folded = name.to_lowercase();
        LANGUAGES.iter().find(|language| {
            [language.name, language.alias]
                .iter()
                .any(|own| own.to_lowercase() == folded)
        })
    }

    /// The name of a month, 1 to 12.
    pub fn month(&self, number: usize) -> &'static str {
        nth(self.months, number)
    }

    /// The short name of a month, 1 to 12.
    pub fn short_month(&self, number: usize) -> &'static str {
        nth(self.short_months, number)
    }

    /// The name of a day, 1 for Sunday.
    pub fn day_from_sunday(&self, number: usize) -> &'static str {
        nth(self.days, (number + 5) % 7 + 1)
    }

    /// The month with a name or short name, ignoring case.
    pub fn month_named(&self, word: &str) -> Option<usize> {
        let is_it = |name: &str| name.eq_ignore_ascii_case(word) || name.to_lowercase() == word.to_lowercase();
        let place = |names: &'static str| names.split(',').position(is_it);
        place(self.months)
            .or_else(|| place(self.short_months))
            .map(|index| index + 1)
    }
}

/// A name of a list, from 1.
fn nth(names: &'static str, number: usize) -> &'static str {
    number
        .checked_sub(1)
        .and_then(|index| names.split(',').nth(index))
        .unwrap_or("")
}

/// How a session reads and writes dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateSettings {
    /// `langid`
    pub language: u8,
    /// DATEFORMAT
    pub order: DateOrder,
    /// `two digit year cutoff`: the last year that two digits may mean.
    pub year_cutoff: i32,
}

/// `two digit year cutoff` of a new instance.
pub const YEAR_CUTOFF: i32 = 2_049;

/// Those of us_english.
pub(super) const OF_ENGLISH: DateSettings = DateSettings {
    language: 0,
    order: DateOrder::MonthDayYear,
    year_cutoff: YEAR_CUTOFF,
};

impl Default for DateSettings {
    fn default() -> DateSettings {
        OF_ENGLISH
    }
}

impl DateSettings {
    pub fn language(self) -> &'static Language {
        LANGUAGES.get(usize::from(self.language)).unwrap_or(&LANGUAGES[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_place_and_all_of_its_names() {
        assert_eq!(LANGUAGES.len(), 34);
        for (place, language) in LANGUAGES.iter().enumerate() {
            assert_eq!(usize::from(language.id), place, "{}", language.name);
            let counts = [language.months, language.short_months, language.days].map(|names| names.split(',').count());
            assert_eq!(counts, [12, 12, 7], "{}", language.name);
            assert!((1..=7).contains(&language.date_first));
        }
    }

    #[test]
    fn names_are_found_and_days_begin_where_they_should() {
        let german = LANGUAGES[1].month_named("MÄRZ");
        assert_eq!(german, Some(3));
        assert_eq!(LANGUAGES[1].day_from_sunday(1), "Sonntag");
        assert_eq!(LANGUAGES[1].day_from_sunday(7), "Samstag");
        assert_eq!(LANGUAGES[0].day_from_sunday(2), "Monday");
        assert!(Language::named("brazilian").is_some_and(|language| language.id == 27));
    }
}
