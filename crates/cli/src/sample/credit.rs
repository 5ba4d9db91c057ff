//! The rows of the Credit database: who charged what where, and what follows from it.
//!
//! The published database (SQLskills' CreditBackup100.bak) is known here by its row counts, its column types and the
//! distributions of `charge`. These distributions have one explanation, which is what this module draws from:
//!
//! ```text
//! 100,000 base charges, each there 16 times                       9,114 members, 455 providers and 22,667 statements occur
//! member_no    = 10,000 - floor(10,000 u v)                       deciles 4101, 5588, 6648, ... 9795
//! provider_no  =    500 - floor(500 u v w)                        deciles  335,  393,  427, ...  498
//! day          1999-06-15 + round(120 u)                          statements close on 08-13 and 09-13
//! statement_no = member_no + 10,000 * (closings passed)           deciles 5416, 7419, 8677, ... 28654;
//!                or 0 on the last day                             0 occurs
//! charge_amt   1 + round(5,000 u)                                 mean 2502
//! charge_no    1, then 400,002 .. 2,000,000                       first decile 560,000, then 160,000 each
//! ```
//! `u`, `v`, `w` are uniform over 0 .. 1. A statement's amount is the sum of its base charges (published: 0 to 129,829, mean
//! 9,270); a payment exists for each of the 15,554 largest.
//!
//! Invariants: all ten tables have the published row counts (but `charge` any count that was asked for); the same seed gives
//! the same rows; a longer `charge` begins with the rows of a shorter one.

use super::random::Random;
use engine::types::Value;
use engine::types::calendar::days_from_date;

/// Rows of `charge` in the published database.
pub(super) const CHARGES: u32 = 1_600_000;
const BASE_CHARGES: u32 = 100_000;
const MEMBERS: u32 = 10_000;
const PROVIDERS: u32 = 500;
const CORPORATIONS: u32 = 500;
const STATEMENTS: u32 = 20_000;
const PAYMENTS: u32 = 15_554;
const CATEGORIES: [&str; 10] = [
    "Travel",
    "Meals",
    "Lodging",
    "Clothing",
    "Electronics",
    "Communication",
    "Entertainment",
    "Groceries",
    "Home Supplies",
    "Misc.",
];
const REGIONS: u32 = 9;
/// The last day on which charges were made, counted from the first, 1999-06-15.
const DAY_MAX: u32 = 120;
/// Whole dollars of a charge beyond the first.
const DOLLARS_MAX: u32 = 5_000;
/// Members that charge for a corporation: all but 84.98 % of them.
const CORPORATE_MEMBERS: u32 = 1_502;
/// Charge numbers from 2 to this one are missing.
const GAP_END: u32 = 400_001;
const LAST_NAMES: [&str; 26] = [
    "ANDERSON", "BARR", "CHEN", "DORR", "EFLIN", "FLORINI", "GOHAN", "HAHN", "INFANTE", "JONES", "KAHRMANN", "LING",
    "MAKAI", "NELSON", "OLPHANT", "PAYNTER", "QUINT", "RYAN", "STEIN", "TOLSKY", "UNAKLET", "VANN", "WOLFMULE",
    "XAVIER", "YEONG", "ZUCKER",
];
/// Every code column holds two spaces.
const NO_CODE: &str = "  ";
const TICKS_PER_MINUTE: u32 = 60 * 300;
const MONEY_UNITS: i64 = 10_000;

/// A charge without its number and its time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BaseCharge {
    pub(super) member: u32,
    pub(super) provider: u32,
    pub(super) category: u32,
    pub(super) day: u32,
    pub(super) dollars: u32,
    /// 0 for charges on no statement.
    pub(super) statement: u32,
}

/// The whole sample, ready to be read table by table.
pub(super) struct Credit {
    seed: u64,
    base: Vec<BaseCharge>,
    charges: u32,
    /// Dollars of statement 1 and up; the last third is of statements that are not closed yet.
    statement_dollars: Vec<u32>,
    /// Repeated in every row, hence made once.
    no_code: Value,
}

/// Year, month, day.
type Date = (i32, u32, u32);

/// The days on which statements close, and those on which they are due.
const CLOSINGS: [(Date, Date); 2] = [((1999, 8, 13), (1999, 9, 2)), ((1999, 9, 13), (1999, 10, 3))];

fn day((year, month, day): Date) -> i32 {
    let since_year_one = |year, month, day| days_from_date(year, month, day).expect("a date of the Gregorian calendar");
    since_year_one(year, month, day) - since_year_one(1900, 1, 1)
}

fn first_day() -> i32 {
    day((1999, 6, 15))
}

fn date(days: i32) -> Value {
    Value::DateTime { days, ticks: 0 }
}

fn dollars(amount: u32) -> Value {
    Value::Money(i64::from(amount) * MONEY_UNITS)
}

fn number(number: u32) -> Value {
    Value::Int(number as i32)
}

impl Credit {
    /// Draws the sample.
    pub(super) fn new(seed: u64, charges: u32) -> Credit {
        let mut random = Random::new(seed, 1);
        let closings = CLOSINGS.map(|(closing, _)| (day(closing) - first_day()) as u32);
        let base: Vec<BaseCharge> = (0..BASE_CHARGES).map(|_| base_charge(&mut random, closings)).collect();
        let mut statement_dollars = vec![0; 3 * MEMBERS as usize + 1];
        for charge in base.iter().filter(|charge| charge.statement > 0) {
            statement_dollars[charge.statement as usize] += charge.dollars;
        }
        Credit {
            seed,
            base,
            charges,
            statement_dollars,
            no_code: NO_CODE.into(),
        }
    }

    /// Rows of `charge`.
    pub(super) fn charge_count(&self) -> u32 {
        self.charges
    }

    /// The charge at a place, from 0: its number, and what it is.
    pub(super) fn charge(&self, place: u32) -> (u32, BaseCharge) {
        let charge_no = if place == 0 { 1 } else { GAP_END + place };
        (charge_no, self.base[(place % BASE_CHARGES) as usize])
    }

    /// A row of `charge`. Rows were stored from 10:45 on, in the order of their numbers.
    pub(super) fn charge_row(&self, place: u32, row: &mut Vec<Value>) {
        const BEGIN: u32 = (10 * 60 + 45) * TICKS_PER_MINUTE;
        const DURATION: u32 = 6 * TICKS_PER_MINUTE + TICKS_PER_MINUTE / 2;
        let (charge_no, charge) = self.charge(place);
        let elapsed = u64::from(DURATION) * u64::from(place) / u64::from(CHARGES.max(self.charges));
        row.clear();
        row.extend([
            number(charge_no),
            number(charge.member),
            number(charge.provider),
            number(charge.category),
            Value::DateTime {
                days: first_day() + charge.day as i32,
                ticks: BEGIN + elapsed as u32,
            },
            dollars(charge.dollars),
            number(charge.statement),
            self.no_code.clone(),
        ]);
    }

    /// The rows of a small table; `None` for a name that is none of them.
    pub(super) fn rows(&self, table: &str) -> Option<Vec<Vec<Value>>> {
        Some(match table {
            "status" => vec![vec![self.no_code.clone(), "No status".into()]],
            "region" => self.regions(),
            "category" => self.categories(),
            "corporation" => self.organisations(2, CORPORATIONS),
            "provider" => self.organisations(3, PROVIDERS),
            "member" => self.members(0),
            "member2" => self.members(1),
            "statement" => self.statements(),
            "payment" => self.payments(),
            _ => return None,
        })
    }

    fn regions(&self) -> Vec<Vec<Value>> {
        let mut random = Random::new(self.seed, 4);
        let region = |region_no| {
            let mut row = vec![number(region_no), format!("Region {region_no}").into()];
            row.extend(address(&mut random));
            row.push(self.no_code.clone());
            row
        };
        (1..=REGIONS).map(region).collect()
    }

    fn categories(&self) -> Vec<Vec<Value>> {
        let names = CATEGORIES.iter().zip(1..);
        names
            .map(|(name, category_no)| vec![number(category_no), (*name).into(), self.no_code.clone()])
            .collect()
    }

    /// Corporations (stream 2) and providers (stream 3): providers have a day of issue as well.
    fn organisations(&self, stream: u64, count: u32) -> Vec<Vec<Value>> {
        let mut random = Random::new(self.seed, stream);
        let issued = day((1996, 10, 15));
        let organisation = |place| {
            let is_provider = stream == 3;
            let name = format!(
                "{} {}",
                if is_provider { "Prov." } else { "Corp." },
                word(&mut random, 4, 8)
            );
            let mut row = vec![number(place), name.into()];
            let [street, city, state, country, mail_code, telephone] = address(&mut random);
            if is_provider {
                row.extend([street, city, state, mail_code, country, telephone, date(issued)]);
            } else {
                row.extend([street, city, state, country, mail_code, telephone]);
            }
            row.push(date(issued + 2 * 365));
            row.push(number(1 + random.below(REGIONS)));
            row.push(self.no_code.clone());
            row
        };
        (1..=count).map(organisation).collect()
    }

    /// Members, with dates so many years earlier. Their balances are their last closed statement and what came after it.
    fn members(&self, years_earlier: i32) -> Vec<Vec<Value>> {
        let mut random = Random::new(self.seed, 5);
        let issued = day((1998 - years_earlier, 10, 15));
        let mut corporate_left = CORPORATE_MEMBERS;
        let member = |member_no: u32| {
            // Selection sampling: of the members left, exactly as many as there are places left become corporate.
            let is_corporate = random.below(MEMBERS + 1 - member_no) < corporate_left;
            corporate_left -= u32::from(is_corporate);
            let corporation = 1 + random.below(CORPORATIONS);
            let initial = char::from(b'A' + random.below(26) as u8).to_string();
            let last_name = LAST_NAMES[random.below(LAST_NAMES.len() as u32) as usize];
            let mut row = vec![
                number(member_no),
                last_name.into(),
                word(&mut random, 3, 15).into(),
                initial.into(),
            ];
            row.extend(address(&mut random));
            let statement = |closings_passed: u32| {
                dollars(self.statement_dollars[(member_no + closings_passed * MEMBERS) as usize])
            };
            row.extend([
                Value::Null,
                date(issued + random.below(365) as i32),
                date(issued + 365 + random.below(365) as i32),
                number(2 + random.below(REGIONS - 1)),
                if is_corporate { number(corporation) } else { Value::Null },
                statement(1),
                statement(2),
                self.no_code.clone(),
            ]);
            row
        };
        (1..=MEMBERS).map(member).collect()
    }

    fn statements(&self) -> Vec<Vec<Value>> {
        let statement = |statement_no: u32| {
            let (member_no, closing, due) = statement_of(statement_no);
            vec![
                number(statement_no),
                number(member_no),
                date(closing),
                date(due),
                dollars(self.statement_dollars[statement_no as usize]),
                self.no_code.clone(),
            ]
        };
        (1..=STATEMENTS).map(statement).collect()
    }

    /// One payment for each of the largest statements, in the order of their numbers, some days before they are due. Nobody pays
    /// nothing (payment_amount_rule): the last of them, whose statements are empty, are of a dollar.
    fn payments(&self) -> Vec<Vec<Value>> {
        let mut random = Random::new(self.seed, 6);
        let mut paid: Vec<u32> = (1..=STATEMENTS).collect();
        paid.sort_by_key(|&statement_no| {
            (
                std::cmp::Reverse(self.statement_dollars[statement_no as usize]),
                statement_no,
            )
        });
        paid.truncate(PAYMENTS as usize);
        paid.sort_unstable();
        let payment = |(statement_no, payment_no): (&u32, u32)| {
            let (member_no, closing, due) = statement_of(*statement_no);
            let days_left = random.below((due - closing) as u32) as i32;
            vec![
                number(payment_no),
                number(member_no),
                date(due - days_left),
                dollars(self.statement_dollars[*statement_no as usize].max(1)),
                number(*statement_no),
                self.no_code.clone(),
            ]
        };
        paid.iter().zip(1..).map(payment).collect()
    }
}

/// Whose statement it is, when it closed and when it is due.
fn statement_of(statement_no: u32) -> (u32, i32, i32) {
    let (closing, due) = CLOSINGS[((statement_no - 1) / MEMBERS) as usize];
    ((statement_no - 1) % MEMBERS + 1, day(closing), day(due))
}

fn base_charge(random: &mut Random, closings: [u32; 2]) -> BaseCharge {
    let skewed = |count: u32, product: f64| count - ((f64::from(count) * product) as u32).min(count - 1);
    let member = skewed(MEMBERS, random.unit() * random.unit());
    let provider = skewed(PROVIDERS, random.unit() * random.unit() * random.unit());
    let category = category(random.unit());
    let rounded = |limit: u32, unit: f64| (f64::from(limit) * unit).round() as u32;
    let day = rounded(DAY_MAX, random.unit());
    let closings_passed = closings.iter().filter(|closing| day >= **closing).count() as u32;
    BaseCharge {
        member,
        provider,
        category,
        day,
        dollars: 1 + rounded(DOLLARS_MAX, random.unit()),
        statement: if day == DAY_MAX {
            0
        } else {
            member + MEMBERS * closings_passed
        },
    }
}

/// Nearly uniform over the categories, with a linear tilt to the higher ones: the published mean is 5.996, not 5.5.
fn category(unit: f64) -> u32 {
    const MEAN: f64 = 5.996;
    let count = CATEGORIES.len() as f64;
    // The sum of (k - 5.5)^2 over 1 .. 10.
    let variation = count * (count * count - 1.0) / 12.0;
    let middle = (count + 1.0) / 2.0;
    let tilt = (MEAN - middle) / variation;
    let mut below = 0.0;
    for category in 1..CATEGORIES.len() as u32 {
        below += 1.0 / count + tilt * (f64::from(category) - middle);
        if unit < below {
            return category;
        }
    }
    CATEGORIES.len() as u32
}

fn word(random: &mut Random, letters_min: u32, letters_max: u32) -> String {
    let letters = letters_min + random.below(letters_max - letters_min + 1);
    (0..letters)
        .map(|_| char::from(b'A' + random.below(26) as u8))
        .collect()
}

/// Street and city (a space each), state, country, mail code, telephone number.
fn address(random: &mut Random) -> [Value; 6] {
    const STATES: [&str; 8] = ["AK", "CA", "MN", "NC", "NY", "TX", "VA", "WA"];
    let state = STATES[random.below(STATES.len() as u32) as usize];
    let mail_code = format!("{:05}-{:04}", random.below(100_000), random.below(10_000));
    let area = 201 + random.below(799);
    let telephone = format!("({area}){:03}-{:04}", 200 + random.below(800), random.below(10_000));
    [
        " ".into(),
        " ".into(),
        state.into(),
        "US".into(),
        mail_code.into(),
        telephone.into(),
    ]
}
