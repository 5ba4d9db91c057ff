//! The schemas of a database by their names and ids.

use engine::catalog::ObjectDefinition;
use engine::database::Database;

/// Ids of the schemas every database has; others have their object's id.
pub(crate) const FIXED_SCHEMAS: [(&str, i32); 4] = [("dbo", 1), ("guest", 2), ("INFORMATION_SCHEMA", 3), ("sys", 4)];

pub(crate) fn id_of_schema(database: &Database, session: u16, name: &str) -> Option<i32> {
    if let Some((_, id)) = FIXED_SCHEMAS.iter().find(|(fixed, _)| fixed.eq_ignore_ascii_case(name)) {
        return Some(*id);
    }
    let objects = database.catalog.objects(session);
    objects.iter().find_map(|object| match &object.definition {
        ObjectDefinition::Schema { object_id, name: other } if other.eq_ignore_ascii_case(name) => {
            Some(*object_id as i32)
        }
        _ => None,
    })
}
