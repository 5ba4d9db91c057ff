//! A question about a plan as a person asks it, and the whole answer: steps, prices, T-SQL. The command line and the page in a browser ask
//! the same, so their figures are the same.

use vlf::{LogLayout, ReadAt, ServerVersion};

use crate::advice::verdict_of_layout;
use crate::inspection::{Depth, inspect};
use crate::pasted::layout_of_vlfs;
use crate::plan::{Plan, PlanError, PlanRequest, Start};
use crate::price::{PlanPrice, PricedDisk};
use crate::render::PlanText;
use crate::script::{ScriptNames, of_search};
use crate::search::{Found, SearchRequest, search};
use crate::size::Growth;

/// The database that T-SQL is written for where none is named.
pub const DATABASE_UNNAMED: &str = "YourDatabase";

/// Where to start, what to do or to reach, on which version and disk.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanQuestion {
    /// Whose growth rules apply.
    pub version: ServerVersion,
    pub start: Start,
    /// Growths to make one after another.
    pub growths: Vec<Growth>,
    /// Then this growth again and again, until the log has `to_bytes`.
    pub autogrowth: Option<Growth>,
    pub to_bytes: Option<u64>,
    /// Search for the steps that end with this many VLFs.
    pub target_vlfs: Option<u64>,
    /// Search for the steps that end with this size, in bytes.
    pub target_file_bytes: Option<u64>,
    /// Database the T-SQL is written for.
    pub database: Option<String>,
    /// Logical name of its log file.
    pub log_name: Option<String>,
    /// Where it is priced.
    pub disk: PricedDisk,
}

/// The plan that answers a [`PlanQuestion`], with its price and its script.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanAnswer {
    pub plan: Plan,
    /// How it was found, if it was searched for.
    pub found: Option<Found>,
    /// The script of a plan that was searched for.
    pub tsql: Option<String>,
    pub price: PlanPrice,
}

impl PlanQuestion {
    /// Whether steps are searched for, not given.
    pub fn is_search(&self) -> bool {
        self.target_vlfs.is_some() || self.target_file_bytes.is_some()
    }

    /// Answers the question.
    ///
    /// # Errors
    /// As [`Plan::of`] and [`search()`].
    pub fn answer(self) -> Result<PlanAnswer, PlanError> {
        let as_it_is = match &self.start {
            Start::Existing(layout) => Some(layout.clone()),
            Start::Create(_) => None,
        };
        if !self.is_search() {
            let plan = Plan::of(&PlanRequest {
                version: self.version,
                start: self.start,
                growths: self.growths,
                autogrowth: self.autogrowth,
                to_bytes: self.to_bytes,
            })?;
            let price = PlanPrice::of(&plan, as_it_is.as_ref(), self.disk);
            return Ok(PlanAnswer {
                plan,
                found: None,
                tsql: None,
                price,
            });
        }
        let existing_bytes = as_it_is.as_ref().map(LogLayout::file_bytes);
        let target_file_bytes = self.target_file_bytes.or(self.to_bytes).or(existing_bytes);
        let found = search(&SearchRequest {
            version: self.version,
            start: self.start,
            target_file_bytes: target_file_bytes.ok_or(PlanError::NoTargetSize)?,
            target_vlfs: self.target_vlfs,
        })?;
        let mut names = ScriptNames::usual(self.database.as_deref().unwrap_or(DATABASE_UNNAMED));
        if let Some(log_name) = self.log_name {
            names.log_file = log_name;
        }
        let price = PlanPrice::of(&found.plan, as_it_is.as_ref(), self.disk);
        Ok(PlanAnswer {
            tsql: Some(of_search(&found, &names, Some(&price))),
            plan: found.plan.clone(),
            found: Some(found),
            price,
        })
    }
}

impl PlanAnswer {
    /// What is shown of it.
    pub fn text(&self) -> PlanText<'_> {
        PlanText {
            plan: &self.plan,
            found: self.found.as_ref(),
            tsql: self.tsql.as_deref(),
            price: Some(&self.price),
            map: true,
        }
    }

    /// The planned VLFs in seconds, as advice has them.
    pub fn verdict(&self) -> String {
        verdict_of_layout(&self.plan.layout, self.plan.version, &self.price.disk)
    }
}

/// A name that SQL Server takes for a database or a file: 1 to 128 characters.
///
/// # Errors
/// A sentence with what is expected.
pub fn identifier(text: &str) -> Result<String, String> {
    match text.encode_utf16().count() {
        1..=128 => Ok(text.to_owned()),
        _ => Err("a name has 1 to 128 characters".to_owned()),
    }
}

/// The layout of a log file, to plan from; only its headers are read.
///
/// # Errors
/// The source fails, or VLFs are damaged.
pub fn layout_of_log<S: ReadAt + ?Sized>(source: &S, version: ServerVersion) -> Result<LogLayout, String> {
    let found = inspect(source, Depth::Headers).map_err(|fault| fault.to_string())?;
    if let Some(damage) = found.damage.iter().find(|damage| damage.bytes > 0) {
        return Err(format!(
            "damaged at offset {}: {}; vlflab inspect tells more",
            damage.offset, damage.what
        ));
    }
    layout_of_vlfs(found.spans(), version).map_err(|error| error.to_string())
}
