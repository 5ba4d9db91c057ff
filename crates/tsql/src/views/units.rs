//! Heaps and indexes by their number in log records: their allocation units, names and kinds.

use std::collections::HashMap;
use std::sync::Arc;

use engine::catalog::{CatalogObject, StorageRoot};
use engine::database::{Database, object_root};
use engine::error::Result;
use engine::page::{ObjectId, PageKind};

use super::indexes::hobt_id;
use super::objects::table_of;

/// What an allocation unit is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitKind {
    Heap,
    Clustered,
    Nonclustered,
    /// Large values.
    Large,
}

/// An allocation unit.
#[derive(Clone)]
pub(crate) struct Unit {
    /// `allocation_unit_id`.
    pub(crate) id: u32,
    /// `schema.table` of a heap, `schema.table.index` of an index.
    pub(crate) name: String,
    /// `hobt_id`.
    pub(crate) partition: i64,
    pub(crate) kind: UnitKind,
    /// 0 for a heap.
    pub(crate) index_id: u32,
    /// The table; `None` for the catalog's own.
    pub(crate) table: Option<Arc<CatalogObject>>,
}

impl Unit {
    /// The table's id; 0 for the catalog's own.
    pub(crate) fn object_id(&self) -> u32 {
        let table = self.table.as_deref().and_then(table_of);
        table.map_or(0, |table| table.object_id)
    }
}

/// The allocation units of a database, as they are at a moment. What is gone by then has no name, as in SQL Server.
pub(crate) struct Units {
    database: Arc<Database>,
    session: u16,
    units: HashMap<u32, Unit>,
    /// Those of large values are looked for when the first is met: finding them reads pages.
    has_large: bool,
}

impl Units {
    pub(crate) fn of(database: &Arc<Database>, session: u16) -> Units {
        let mut units = HashMap::new();
        let catalog = database.boot().catalog_object;
        let own = Unit {
            id: catalog,
            name: "sys.vlflab_catalog".to_owned(),
            partition: i64::from(catalog) << 16,
            kind: UnitKind::Heap,
            index_id: 0,
            table: None,
        };
        units.insert(catalog, own);
        for object in database.catalog.objects(session) {
            let of_rows = roots(&object).into_iter();
            units.extend(of_rows.map(|(root, unit)| (object_root(&root).object.0, unit)));
        }
        Units {
            database: database.clone(),
            session,
            units,
            has_large: false,
        }
    }

    /// The one unit of an object, without the others: what is asked page by page. `None` where it is not there any more.
    ///
    /// # Errors
    /// Those of reading the lists of large values.
    pub(crate) fn only(database: &Arc<Database>, session: u16, id: ObjectId) -> Result<Option<Unit>> {
        let is_its = |root: &StorageRoot| object_root(root).object == id;
        let table = database.catalog.objects(session).into_iter().find(|object| {
            let Some(table) = table_of(object) else { return false };
            table.storage_roots().any(|root| is_its(&root))
        });
        if let Some(table) = table {
            let mut units = roots(&table).into_iter();
            return Ok(units.find(|(root, _)| is_its(root)).map(|(_, unit)| unit));
        }
        // The catalog's own, large values, or none.
        Units::of(database, session).find(id).map(|unit| unit.cloned())
    }

    /// The unit of an object; `None` where it is not there any more.
    ///
    /// # Errors
    /// Those of reading the lists of large values.
    pub(crate) fn find(&mut self, object: ObjectId) -> Result<Option<&Unit>> {
        if !self.units.contains_key(&object.0) && !self.has_large && object.0 != 0 {
            self.has_large = true;
            self.add_large()?;
        }
        Ok(self.units.get(&object.0))
    }

    fn add_large(&mut self) -> Result<()> {
        for object in self.database.catalog.objects(self.session) {
            for (root, unit) in roots(&object) {
                let beside = self
                    .database
                    .space
                    .large_space(&self.database.storage, object_root(&root))?;
                for large in beside {
                    let id = large.root.object.0;
                    let unit = Unit {
                        id,
                        kind: UnitKind::Large,
                        ..unit.clone()
                    };
                    self.units.insert(id, unit);
                }
            }
        }
        Ok(())
    }
}

/// The heap and the indexes of a table; nothing of another object.
pub(crate) fn roots(object: &Arc<CatalogObject>) -> Vec<(StorageRoot, Unit)> {
    let Some(table) = table_of(object) else {
        return Vec::new();
    };
    let name = format!("{}.{}", table.schema, table.name);
    let unit = |root: StorageRoot, name: String, index_id: u32| Unit {
        id: root.unit,
        name,
        partition: hobt_id(root),
        kind: kind_of(index_id),
        index_id,
        table: Some(object.clone()),
    };
    let roots = table.partition_roots().into_iter();
    let roots = roots.map(|(index, _, root)| match index {
        None => (root, unit(root, name.clone(), 0)),
        Some(index) => (root, unit(root, format!("{name}.{}", index.name), index.index_id)),
    });
    roots.collect()
}

fn kind_of(index_id: u32) -> UnitKind {
    match index_id {
        0 => UnitKind::Heap,
        1 => UnitKind::Clustered,
        _ => UnitKind::Nonclustered,
    }
}

/// `m_type` of SQL Server's pages of the same use, for a page of an index or heap.
pub(crate) fn page_type(kind: Option<PageKind>, unit: Option<UnitKind>) -> u8 {
    match kind {
        Some(PageKind::TreeLeaf) if unit == Some(UnitKind::Nonclustered) => 2,
        Some(PageKind::Heap | PageKind::TreeLeaf) => 1,
        Some(PageKind::TreeBranch) => 2,
        Some(PageKind::LargeData) => 3,
        Some(PageKind::LargeBranch) => 4,
        Some(PageKind::SpaceMap) => 8,
        Some(PageKind::ExtentList) => 10,
        Some(PageKind::Boot) => 13,
        Some(PageKind::FileHeader) => 15,
        Some(PageKind::ChangeMap) => 16,
        Some(PageKind::Free) | None => 0,
    }
}
