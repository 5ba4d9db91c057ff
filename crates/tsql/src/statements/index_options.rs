//! The options of an index that the catalog keeps and shows.

use engine::catalog::{IndexDefinition, IndexOptions};
use engine::error::Result;

use crate::ast::OptionValue;
use crate::messages;
use crate::modules::ignores_duplicates;

/// Whether an option is kept with its index.
pub(super) fn is_kept(name: &str) -> bool {
    name == "FILLFACTOR" || switch_of(&mut IndexOptions::default(), name).is_some()
}

/// Whether DROP_EXISTING is ON.
pub(super) fn drops_existing(written: &[OptionValue]) -> bool {
    let mut options = written.iter().filter(|option| option.name == "DROP_EXISTING");
    options.any(|option| option.switch() == Some(true))
}

/// The options of a WITH clause over those that were kept. The grammar has checked their values.
pub(super) fn index_options(written: &[OptionValue], kept: IndexOptions) -> IndexOptions {
    let mut options = kept;
    for option in written {
        if option.name == "FILLFACTOR" {
            options.fill_factor_percent = option.percentage().unwrap_or(options.fill_factor_percent);
        } else if let Some(switch) = switch_of(&mut options, &option.name) {
            *switch = option.switch().unwrap_or(*switch);
        }
    }
    options
}

fn switch_of<'o>(options: &'o mut IndexOptions, name: &str) -> Option<&'o mut bool> {
    Some(match name {
        "ALLOW_PAGE_LOCKS" => &mut options.allows_page_locks,
        "ALLOW_ROW_LOCKS" => &mut options.allows_row_locks,
        "OPTIMIZE_FOR_SEQUENTIAL_KEY" => &mut options.is_optimized_for_sequential_key,
        "IGNORE_DUP_KEY" => &mut options.ignores_duplicates,
        "PAD_INDEX" => &mut options.is_padded,
        _ => return None,
    })
}

/// IGNORE_DUP_KEY is for unique indexes. What a statement says is judged before anything is looked up.
///
/// # Errors
/// 1916
pub(super) fn check_uniqueness_of_ignoring(is_unique: bool, options: &[OptionValue]) -> Result<()> {
    match !is_unique && ignores_duplicates(options) {
        true => Err(messages::ignores_duplicates_but_not_unique()),
        false => Ok(()),
    }
}

/// IGNORE_DUP_KEY is not for filtered indexes (sql-docs, CREATE INDEX).
///
/// # Errors
/// 10618
pub(super) fn check_filter_without_ignoring(index: &IndexDefinition, verb: &str, table: &str) -> Result<()> {
    match index.filter.is_some() && index.options.ignores_duplicates {
        true => Err(messages::ignores_duplicates_of_filter(verb, &index.name, table)),
        false => Ok(()),
    }
}

/// Whether IGNORE_DUP_KEY of ALTER INDEX may be set for an index: not for that of a constraint, whichever way; a rebuild may say that it is
/// OFF, as scripted rebuilds do.
///
/// # Errors
/// 1915, 1979, 10618.
pub(super) fn check_altered_ignoring(
    index: &IndexDefinition,
    options: &[OptionValue],
    is_set: bool,
    table: &str,
) -> Result<()> {
    let is_on = ignores_duplicates(options);
    let is_said = is_set && options.iter().any(|option| option.name == "IGNORE_DUP_KEY");
    if index.is_constraint() && (is_on || is_said) {
        return Err(messages::ignores_duplicates_of_constraint(&index.name));
    }
    if is_on && !index.unique {
        return Err(messages::ignores_duplicates_of_nonunique(&index.name));
    }
    match is_on && index.filter.is_some() {
        true => Err(messages::ignores_duplicates_of_filter("alter", &index.name, table)),
        false => Ok(()),
    }
}
