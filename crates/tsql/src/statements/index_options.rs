//! The options of an index that the catalog keeps and shows.

use engine::catalog::IndexOptions;

use crate::ast::OptionValue;

/// Whether an option is kept with its index.
pub(super) fn is_kept(name: &str) -> bool {
    name == "FILLFACTOR" || switch_of(&mut IndexOptions::default(), name).is_some()
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
        "PAD_INDEX" => &mut options.is_padded,
        _ => return None,
    })
}
