//! What vlflab holds values of foreign types and collations in.
//!
//! | foreign | here |
//! |---|---|
//! | `hierarchyid`, `geometry`, `geography` | itself: the same bytes |
//! | `xml`, `json`, other CLR types, types without a name | `varbinary(max)` |
//! | `char`, `varchar`, `text` of a code page that is neither 1252 nor UTF-8 | `nchar`, or `nvarchar` beyond 450 characters; `nvarchar`; `ntext`: the same characters |
//! | a collation of Latin1_General, or a language of its own | the collation of Latin1_General that tells the same things apart |

use crate::catalog::objects::{Column, UserType};
use crate::types::code_page::{Style, UTF_8, code_page};
use crate::types::{ColumnType, SystemType};

/// Characters of the longest `nvarchar` and `nchar`.
const UNICODE_CHARACTERS_MAX: i16 = 4_000;

/// vlflab has no such type.
fn is_lacking(system: SystemType) -> bool {
    matches!(
        system,
        SystemType::Clr | SystemType::Xml | SystemType::Json | SystemType::Unknown(_)
    )
}

/// The name of the column's type, if it is a CLR type that vlflab has.
pub fn clr_name(column: &Column) -> Option<&str> {
    match &column.user_type {
        Some(UserType::System(name)) if column.kind.system == SystemType::Clr => {
            ["hierarchyid", "geometry", "geography"]
                .into_iter()
                .find(|known| known == name)
        }
        _ => None,
    }
}

/// vlflab has no type for the column's values.
pub(super) fn is_column_lacking(column: &Column) -> bool {
    is_lacking(column.kind.system) && clr_name(column).is_none()
}

/// The type that vlflab holds a column's values in; of the CLR types those of the system stay what they are.
pub fn held_column(column: &Column) -> ColumnType {
    match clr_name(column) {
        Some(_) => column.kind,
        None => held_type(&column.kind),
    }
}

/// Characters of the longest `nchar` that stands for a `char`: twice its bytes are still a key of an index, and a longer one could make a row that
/// fits into no page.
const FIXED_CHARACTERS_MAX: i16 = 450;

/// The type that vlflab holds values of a type in.
pub(super) fn held_type(kind: &ColumnType) -> ColumnType {
    if is_lacking(kind.system) {
        return ColumnType {
            system: SystemType::VarBinary,
            length_bytes: -1,
            ..*kind
        };
    }
    let is_here = matches!(code_page(kind.collation), None | Some(1252 | UTF_8));
    let is_short = (1..=UNICODE_CHARACTERS_MAX).contains(&kind.length_bytes);
    let (system, length_bytes) = match kind.system {
        _ if is_here => return *kind,
        SystemType::Char if kind.length_bytes <= FIXED_CHARACTERS_MAX => (SystemType::NChar, 2 * kind.length_bytes),
        SystemType::Char | SystemType::VarChar if is_short => (SystemType::NVarChar, 2 * kind.length_bytes),
        SystemType::Char | SystemType::VarChar => (SystemType::NVarChar, -1),
        SystemType::Text => (SystemType::NText, kind.length_bytes),
        _ => return *kind,
    };
    ColumnType {
        system,
        length_bytes,
        ..*kind
    }
}

/// The collation of vlflab that tells apart what the one with the id `collation` does.
pub fn collation_name(collation: u32) -> &'static str {
    let style = Style::of(collation);
    let tells = (style.is_case_sensitive, style.is_accent_sensitive);
    if code_page(collation) == Some(UTF_8) {
        return match tells {
            _ if style.is_exact => "Latin1_General_100_BIN2_UTF8",
            (false, true) => "Latin1_General_100_CI_AS_SC_UTF8",
            (true, true) => "Latin1_General_100_CS_AS_SC_UTF8",
            (false, false) => "Latin1_General_100_CI_AI_SC_UTF8",
            (true, false) => "Latin1_General_100_CS_AI_SC_UTF8",
        };
    }
    match (collation >> 24, tells) {
        // Without a collation, that of the database counts, and this is its usual one.
        (52, _) => "SQL_Latin1_General_CP1_CI_AS",
        (51, _) => "SQL_Latin1_General_CP1_CS_AS",
        _ if collation == 0 => "SQL_Latin1_General_CP1_CI_AS",
        _ if style.is_exact => "Latin1_General_BIN2",
        (_, (false, true)) => "Latin1_General_CI_AS",
        (_, (true, true)) => "Latin1_General_CS_AS",
        (_, (false, false)) => "Latin1_General_CI_AI",
        (_, (true, false)) => "Latin1_General_CS_AI",
    }
}

/// The name is that of the collation itself, and not only of one that tells the same apart.
pub(super) fn is_same_collation(collation: u32) -> bool {
    matches!(
        collation,
        0 | 0x3400_D008 | 0x3300_C008 | 0xD008 | 0xC008 | 0xF008 | 0xE008
    )
}

#[cfg(test)]
mod tests {
    use super::{collation_name, held_column, held_type, is_column_lacking};
    use crate::catalog::objects::{Column, ObjectName, UserType};
    use crate::schema::{Dialect, type_for};
    use crate::types::{ColumnType, SystemType};

    /// A column of a CLR type was `varbinary(max)` after an import whatever it was, and `GetLevel()` of an imported column did not exist.
    #[test]
    fn clr_types_of_the_system_stay_and_others_become_bytes() {
        let column = |user_type, length_bytes| Column {
            id: 1,
            name: "node".to_owned(),
            kind: ColumnType {
                system: SystemType::Clr,
                length_bytes,
                precision: 0,
                scale: 0,
                collation: 0,
            },
            user_type: Some(user_type),
            is_nullable: true,
            is_rowguid: false,
            is_sparse: false,
            is_column_set: false,
            is_filestream: false,
            identity: None,
            computed: None,
            default: None,
        };
        let system = |name: &str| UserType::System(name.to_owned());
        let hierarchy = column(system("hierarchyid"), 892);
        assert_eq!(type_for(&hierarchy, Dialect::Vlflab), "hierarchyid");
        assert_eq!(held_column(&hierarchy).system, SystemType::Clr);
        assert!(!is_column_lacking(&hierarchy));
        let geography = column(system("geography"), -1);
        assert_eq!(type_for(&geography, Dialect::Vlflab), "geography");
        assert!(!is_column_lacking(&geography));
        let own = UserType::Alias(ObjectName {
            schema: "dbo".to_owned(),
            name: "hierarchyid".to_owned(),
        });
        let other = column(own, 892);
        assert_eq!(type_for(&other, Dialect::Vlflab), "varbinary(max)");
        assert!(is_column_lacking(&other));
    }

    #[test]
    fn text_of_other_code_pages_is_held_as_unicode() {
        let held = |system, length_bytes, collation| {
            let kind = ColumnType {
                system,
                length_bytes,
                precision: 0,
                scale: 0,
                collation,
            };
            held_type(&kind).to_string()
        };
        let (latin, cyrillic) = (0x3400_D008, 0xD015);
        assert_eq!(held(SystemType::VarChar, 20, latin), "varchar(20)");
        assert_eq!(held(SystemType::VarChar, 20, cyrillic), "nvarchar(20)");
        assert_eq!(held(SystemType::VarChar, 8000, cyrillic), "nvarchar(max)");
        assert_eq!(held(SystemType::VarChar, -1, cyrillic), "nvarchar(max)");
        assert_eq!(held(SystemType::Char, 5, cyrillic), "nchar(5)");
        assert_eq!(held(SystemType::Char, 3000, cyrillic), "nvarchar(3000)");
        assert_eq!(held(SystemType::Text, 16, cyrillic), "ntext");
        assert_eq!(held(SystemType::NVarChar, 40, cyrillic), "nvarchar(20)");
        assert_eq!(held(SystemType::Xml, -1, 0), "varbinary(max)");
    }

    #[test]
    fn a_collation_tells_the_same_apart() {
        assert_eq!(collation_name(0x3400_D008), "SQL_Latin1_General_CP1_CI_AS");
        assert_eq!(collation_name(0xC015), "Latin1_General_CS_AS");
        assert_eq!(collation_name(0xF01A), "Latin1_General_CI_AI");
        assert_eq!(collation_name(0x0008), "Latin1_General_BIN2");
        assert_eq!(collation_name(0xD108), "Latin1_General_100_CI_AS_SC_UTF8");
    }
}
