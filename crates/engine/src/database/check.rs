//! DBCC CHECKDB: pages, rows, trees, allocation, and the chain of the log.

use super::{Database, object_root};
use crate::cancel;
use crate::catalog::{FIXED_ROLE_IDS, IndexDefinition, ObjectDefinition, PRINCIPAL_ID_FIRST, TableDefinition};
use crate::error::{Error, Result};
use crate::lock::LockOwner;
use crate::page::{ObjectId, PageId};
use crate::seams::{Work, WorkKind};
use crate::store::{
    Finding, Heap, LargeCheck, LargeKind, ObjectKind, ObjectRoot, PlacesOf, PlacesOfRow, ReadMode, RowBatch, Tree,
    TreeBatch, read_value, verify_allocation, verify_with_large,
};
use crate::types::KeyDirection;
use crate::types::off_row::is_unlimited;
use crate::types::{RowLayout, Value};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;
use vlf::Lsn;

/// What the check saw of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedObject {
    pub name: String,
    pub object_id: u32,
    pub rows: u64,
    /// Pages with rows.
    pub pages: u64,
}

/// What DBCC CHECKDB reports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Faults of allocation.
    pub allocation: Vec<Finding>,
    /// Faults of objects.
    pub consistency: Vec<Finding>,
    /// Faults of the log, as sentences.
    pub log: Vec<String>,
    pub objects: Vec<CheckedObject>,
    /// Log records read from the last checkpoint on.
    pub log_records: u64,
}

impl CheckReport {
    /// True when nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.allocation.is_empty() && self.consistency.is_empty() && self.log.is_empty()
    }
}

/// An object that is checked.
struct CheckedParts<'p> {
    name: &'p str,
    object_id: u32,
    /// Where its parts begin, that of its rows first.
    roots: &'p [(ObjectRoot, ObjectKind)],
    /// How many entries indexes with filters have to have, by their units.
    entries: HashMap<u32, u64>,
}

impl CheckedParts<'_> {
    /// How many entries the index at a root has to have, of a table of so many rows.
    fn expected(&self, root: ObjectRoot, rows: u64) -> u64 {
        self.entries.get(&root.object.0).copied().unwrap_or(rows)
    }
}

/// Finds the columns of a table's rows that lie outside of them.
fn places_of(layout: RowLayout) -> impl Fn(&[u8]) -> Result<PlacesOfRow> {
    move |row| {
        let places = layout.places(row)?.into_iter();
        let kind = |column| match layout.column_type(column).is_some_and(is_unlimited) {
            true => LargeKind::Lob,
            false => LargeKind::RowOverflow,
        };
        Ok(places.map(|(column, place)| (kind(column), place)).collect())
    }
}

/// A definition that contradicts itself, or another.
fn definition_finding(table: &TableDefinition, test: &str) -> Finding {
    let id = table.object_id;
    Finding {
        number: 8939,
        object: ObjectId(id),
        page: PageId::NONE,
        text: format!(
            "Table error: Object ID {id}, page {}. Test ({test}) failed.",
            PageId::NONE
        ),
    }
}

/// The filegroup of a partition, counted from 1, of a heap or tree; what its definition says of the whole where the table is not partitioned.
fn placed(table: &TableDefinition, number: usize, of_whole: u32) -> u32 {
    match &table.partitioning {
        Some(partitioning) => {
            let filegroup = partitioning.filegroups.get(number - 1).copied();
            filegroup.map_or(of_whole, u32::from)
        }
        None => of_whole,
    }
}

/// The partitions of a table that were checked last, as one object.
fn merge_partitions(report: &mut CheckReport, first: usize) {
    let others = report.objects.split_off((first + 1).min(report.objects.len()));
    if let Some(table) = report.objects.last_mut() {
        for other in others {
            table.rows += other.rows;
            table.pages += other.pages;
        }
    }
}

impl Database {
    /// Checks everything. The caller keeps writers out.
    ///
    /// # Errors
    /// Only what keeps the check from being made, such as 3617; what it finds is in the report.
    pub fn check(&self) -> Result<CheckReport> {
        let work = self
            .storage
            .env
            .begin_work(WorkKind::Check, &self.storage.name, self.pages_in_use());
        // What is left of a marked transaction keeps pages of large values that no row leads to.
        // What cannot be taken back is damaged, and found below.
        if self.check_writable().is_ok() {
            self.take_back_all_marked().or_else(|error| match error {
                stopped if stopped == Error::cancelled() => Err(stopped),
                _ => Ok(()),
            })?;
        }
        let _pages_stay = self.space.keep_still();
        let mut report = CheckReport {
            allocation: verify_allocation(&self.storage, &self.space, &self.owned_roots()).findings,
            ..CheckReport::default()
        };
        report.allocation.extend(self.check_placement());
        let boot = self.boot();
        let catalog = ObjectRoot {
            object: ObjectId(boot.catalog_object),
            first_iam: boot.catalog_root,
        };
        let of_catalog = CheckedParts {
            name: "sys.sysobjects",
            object_id: boot.catalog_object,
            roots: &[(catalog, ObjectKind::Heap)],
            entries: HashMap::new(),
        };
        self.check_object(&mut report, &of_catalog, work.work(), None);
        for object in self.catalog.objects(0) {
            let Some(table) = object.definition.table() else {
                continue;
            };
            let before = report.objects.len();
            if !table.has_all_partitions() {
                let test = "its storage is that of its partitions";
                report.consistency.push(definition_finding(table, test));
            }
            let partitions = table.partitions();
            for number in 0..table.partition_count() {
                match partitions.get(number) {
                    Some(partition) => self.check_table(&mut report, &partition, work.work())?,
                    None => break,
                }
            }
            if table.partitioning.is_some() {
                merge_partitions(&mut report, before);
                self.check_partitions(&mut report, table)?;
            }
        }
        report.consistency.extend(self.check_principals());
        report.allocation.extend(self.check_changes()?);
        self.check_log(&mut report);
        // What was not looked at for lack of time would be taken for damage.
        cancel::look()?;
        Ok(report)
    }

    /// Whether the principals that memberships, permissions and owners name are there (3853, as DBCC CHECKCATALOG says it: sql-docs, "Database
    /// engine events and errors").
    fn check_principals(&self) -> Vec<Finding> {
        let objects = self.catalog.objects(0);
        let own = objects.iter().filter_map(|object| match &object.definition {
            ObjectDefinition::Principal(own) => Some(own.principal_id),
            _ => None,
        });
        let own: HashSet<u32> = own.collect();
        let is_there = |id: u32| id < PRINCIPAL_ID_FIRST || FIXED_ROLE_IDS.contains(&id) || own.contains(&id);
        let named = objects.iter().flat_map(|object| {
            let named = match &object.definition {
                ObjectDefinition::RoleMembership(own) => {
                    vec![("role_principal_id", own.role), ("member_principal_id", own.member)]
                }
                ObjectDefinition::Permission(own) => {
                    vec![
                        ("grantee_principal_id", own.grantee),
                        ("grantor_principal_id", own.grantor),
                    ]
                }
                ObjectDefinition::Owner(own) => vec![("principal_id", own.owner)],
                ObjectDefinition::Principal(own) => own
                    .owner
                    .map(|owner| ("owning_principal_id", owner))
                    .into_iter()
                    .collect(),
                _ => Vec::new(),
            };
            named
                .into_iter()
                .map(|(attribute, id)| (object.definition.object_id(), attribute, id))
        });
        let missing = named.filter(|(_, _, id)| !is_there(*id));
        let findings = missing.map(|(row, attribute, id)| Finding {
            number: 3853,
            object: ObjectId(row),
            page: PageId::NONE,
            text: format!(
                "Attribute ({attribute}={id}) of row (object_id={row}) in the catalog does not have a matching row (principal_id={id}) in \
                 sys.database_principals."
            ),
        });
        findings.collect()
    }

    /// Whether what definitions say of filegroups is so: there are these filegroups, and the storage is there.
    fn check_placement(&self) -> Vec<Finding> {
        let files = &self.storage.files;
        let mut findings = self.check_owners();
        let mut note = |object: u32, page: PageId, test: String| {
            findings.push(Finding {
                number: 8939,
                object: ObjectId(object),
                page,
                text: format!("Table error: Object ID {object}, page {page}. Test ({test}) failed."),
            });
        };
        for file in self.entry().files.iter().filter(|file| !file.log) {
            if !files.has_filegroup(file.filegroup) {
                let test = format!(
                    "the database has the filegroup {} of the file {}",
                    file.filegroup, file.name
                );
                note(0, PageId::NONE, test);
            }
        }
        for object in self.catalog.objects(0) {
            let Some(table) = object.definition.table() else {
                continue;
            };
            for (index, number, root) in table.partition_roots() {
                let root = object_root(&root);
                let of_whole = index.map_or(table.data_space, |index| index.data_space);
                let space = placed(table, number, of_whole);
                if u32::from(files.filegroup_of(root.first_iam.file)) != space {
                    let test = format!("it is in the filegroup {space} of its definition");
                    note(root.object.0, root.first_iam, test);
                }
            }
            for (unit, space) in self.large_units_misplaced(table) {
                let test = format!("large values are in the filegroup {space} of the definition");
                note(unit.object.0, unit.first_iam, test);
            }
            let spaces = table.every_index().map(|index| index.data_space);
            let of_whole = spaces.chain([table.data_space]);
            let of_partitions = table.partitioning.iter().flat_map(|one| &one.filegroups);
            let of_whole = of_whole.filter(|_| table.partitioning.is_none());
            let of_partitions = of_partitions.map(|filegroup| u32::from(*filegroup));
            let mut spaces = of_whole.chain(of_partitions).chain(table.text_space);
            if let Some(space) = spaces.find(|space| !u16::try_from(*space).is_ok_and(|id| files.has_filegroup(id))) {
                let test = format!("the database has the filegroup {space} of table {}", table.name);
                note(table.object_id, PageId::NONE, test);
            }
        }
        findings
    }

    /// Whether every heap and tree is of one table, index and partition alone.
    fn check_owners(&self) -> Vec<Finding> {
        let mut units = HashSet::new();
        let mut findings = Vec::new();
        for object in self.catalog.objects(0) {
            let Some(table) = object.definition.table() else {
                continue;
            };
            if table
                .storage_roots()
                .any(|root| root.unit != 0 && !units.insert(root.unit))
            {
                findings.push(definition_finding(table, "its storage is its own"));
            }
        }
        findings
    }

    /// The units of large values of a table that are in another filegroup than its definition says, and which that is. Units that cannot be
    /// found are the finding of the check of extents.
    fn large_units_misplaced(&self, table: &TableDefinition) -> Vec<(ObjectRoot, u32)> {
        let mut found = Vec::new();
        let roots = table.partition_roots().into_iter();
        for (index, number, rows) in roots.filter(|(index, ..)| index.is_none_or(|index| index.index_id == 1)) {
            let space = placed(table, number, index.map_or(table.data_space, |index| index.data_space));
            let units = self.space.large_space(&self.storage, object_root(&rows));
            for unit in units.unwrap_or_default() {
                let space = match unit.kind {
                    LargeKind::Lob => table.text_space.unwrap_or(space),
                    LargeKind::RowOverflow => space,
                };
                if u32::from(self.storage.files.filegroup_of(unit.root.first_iam.file)) != space {
                    found.push((unit.root, space));
                }
            }
        }
        found
    }

    /// Checks a table that is not partitioned, or one partition.
    fn check_table(&self, report: &mut CheckReport, table: &TableDefinition, work: &Arc<Work>) -> Result<()> {
        let heap = table.heap.iter().map(|root| (object_root(root), ObjectKind::Heap));
        let trees = table
            .indexes
            .iter()
            .map(|index| (object_root(&index.storage), ObjectKind::Tree));
        let roots: Vec<_> = heap.chain(trees).collect();
        let places_of = places_of(table.layout());
        let of_table = CheckedParts {
            name: &table.name,
            object_id: table.object_id,
            roots: &roots,
            entries: self.entries_of_filtered(table)?,
        };
        self.check_object(report, &of_table, work, Some(&places_of));
        Ok(())
    }

    /// Whether every row of a partitioned table is in the partition of its value. Rows that cannot be read are the finding of the check of
    /// the rows.
    ///
    /// # Errors
    /// 3617; 824 for a boundary that cannot be read.
    fn check_partitions(&self, report: &mut CheckReport, table: &TableDefinition) -> Result<()> {
        let Some(partitioning) = &table.partitioning else {
            return Ok(());
        };
        let objects = self.catalog.objects(0);
        let mut schemes = objects.iter().filter_map(|object| object.definition.partition_scheme());
        let scheme = schemes.find(|scheme| scheme.data_space == partitioning.scheme);
        let mut functions = objects
            .iter()
            .filter_map(|object| object.definition.partition_function());
        let as_said = scheme.and_then(|scheme| {
            let function = functions.find(|function| function.function_id == scheme.function)?;
            Some(function.partitioning(scheme, partitioning.column))
        });
        if as_said.transpose()?.as_ref() != Some(partitioning) {
            let test = "it is partitioned as its scheme and function say";
            report.consistency.push(definition_finding(table, test));
        }
        let layout = table.layout();
        let column = partitioning.column;
        let sql_type = layout.column_type(column);
        let sql_type = sql_type.ok_or_else(|| Error::assertion("a partitioning column that is not there"))?;
        let collation = layout.column_collation(column);
        let ranges = partitioning.ranges(sql_type, collation, KeyDirection::Ascending)?;
        let partitions = table.partitions();
        for number in 0..table.partition_count() {
            let Some(partition) = partitions.get(number) else {
                continue;
            };
            let mut strays = BTreeSet::new();
            // What cannot be read is the finding of the check of the rows; what was seen until then counts.
            let _unread = self.each_row(&partition, self.internal_locks(), &mut |row| {
                let value = layout.column_read_by(row, column, |place| self.value_at(&partition, place))?;
                let found = ranges.partition_of(&value);
                if found != number {
                    strays.insert(found);
                }
                Ok(())
            });
            cancel::look()?;
            for found in strays {
                let (id, now, right) = (table.object_id, number + 1, found + 1);
                let text = format!(
                    "Table error: Object ID {id}. A row should be on partition number {right} but was found in partition number {now}. Possible extra or invalid keys for:"
                );
                report.consistency.push(Finding {
                    number: 8984,
                    object: ObjectId(0),
                    page: PageId::NONE,
                    text,
                });
            }
        }
        Ok(())
    }

    /// How many rows the filters of a table's indexes hold for, by the units of the indexes. Rows of which that cannot be seen are the finding of
    /// the check of the rows; then nothing is said of the index.
    ///
    /// # Errors
    /// 3617.
    fn entries_of_filtered(&self, table: &TableDefinition) -> Result<HashMap<u32, u64>> {
        let filtered = table.indexes.iter().filter(|index| index.filter.is_some());
        let filtered: Vec<&IndexDefinition> = filtered.collect();
        let mut entries = HashMap::new();
        let layout = table.layout();
        let locks = self.internal_locks();
        for index in filtered {
            let Some(filter) = &index.filter else { continue };
            let mut count = 0;
            let mut values = vec![Value::Null; layout.column_count()];
            let counted = self.each_row(table, locks, &mut |row| {
                for term in &filter.terms {
                    values[term.column] =
                        layout.column_read_by(row, term.column, |place| self.value_at(table, place))?;
                }
                count += u64::from(filter.holds(&values, &layout)?);
                Ok(())
            });
            cancel::look()?;
            if counted.is_ok() {
                entries.insert(index.storage.unit, count);
            }
        }
        Ok(entries)
    }

    /// The bytes of a value that lies outside of its row.
    pub(super) fn value_at(&self, table: &TableDefinition, place: &[u8]) -> Result<Vec<u8>> {
        let rows = table.clustered().map(|index| &index.storage).or(table.heap.as_ref());
        let rows = rows.ok_or_else(|| Error::assertion("a table without rows"))?;
        let beside = self.space.large.beside(&self.storage, object_root(rows))?;
        read_value(&self.storage, &beside.ids(), place)
    }

    /// Shows every row of a table, as it is stored.
    pub(super) fn each_row(
        &self,
        table: &TableDefinition,
        locks: &LockOwner,
        each: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (storage, space, id) = (&self.storage, &self.space, table.object_id);
        if let Some(clustered) = table.clustered() {
            let tree = Tree::open(storage, space, object_root(&clustered.storage), id)?;
            let whole = (Bound::Unbounded, Bound::Unbounded);
            let mut scan = tree.scan(storage, locks, ReadMode::Uncommitted, whole, false);
            let mut batch = TreeBatch::new();
            while scan.next_page(&mut batch)? {
                let rows = (0..batch.len()).filter_map(|place| batch.get(place));
                rows.map(|(_, row)| row).try_for_each(&mut *each)?;
            }
        } else if let Some(heap) = &table.heap {
            let heap = Heap::open(storage, space, object_root(heap), id)?;
            let mut scan = heap.scan(storage, locks, ReadMode::Uncommitted)?;
            let mut batch = RowBatch::new();
            while scan.next_page(&mut batch)? {
                let rows = (0..batch.len()).filter_map(|place| batch.get(place));
                rows.map(|(_, row)| row).try_for_each(&mut *each)?;
            }
        }
        Ok(())
    }

    fn pages_in_use(&self) -> u64 {
        let files = self.storage.files.file_ids().into_iter();
        files.map(|file| self.space.used_pages(file)).sum()
    }

    /// The first root holds the rows; the others must have one entry for each of them, or for each that their filter is for.
    fn check_object(
        &self,
        report: &mut CheckReport,
        parts: &CheckedParts<'_>,
        work: &Arc<Work>,
        places_of: Option<PlacesOf<'_>>,
    ) {
        let (name, object_id) = (parts.name, parts.object_id);
        let mut checked = CheckedObject {
            name: name.to_string(),
            object_id,
            rows: 0,
            pages: 0,
        };
        for (place, &(root, kind)) in parts.roots.iter().enumerate() {
            let large = places_of
                .filter(|_| place == 0)
                .map(|of| LargeCheck::new(&self.storage, root, of));
            // A unit whose lists cannot be read is the allocation check's finding.
            let large = large.and_then(|large| large.ok().flatten());
            let verdict = verify_with_large(&self.storage, root, kind, Some(work), large);
            if place == 0 {
                checked.rows = verdict.rows;
                checked.pages = verdict.pages;
            } else if verdict.rows != parts.expected(root, checked.rows) && verdict.findings.is_empty() {
                let text = format!(
                    "Table error: table '{name}' (ID {object_id}) has {} rows, and one of its indexes has {} entries.",
                    parts.expected(root, checked.rows),
                    verdict.rows
                );
                let (object, page) = (root.object, PageId::NONE);
                report.consistency.push(Finding {
                    number: 8951,
                    object,
                    page,
                    text,
                });
            }
            report.consistency.extend(verdict.findings);
        }
        report.objects.push(checked);
    }

    /// The object under whose id the catalog's rows are locked: a session that changes definitions holds it.
    pub fn catalog_object_id(&self) -> u32 {
        self.boot().catalog_object
    }

    /// Reads the log from the last checkpoint to where it is durable: every block must follow from the one before. A checkpoint
    /// meanwhile lets the log be used again from where reading began, so it starts over.
    fn check_log(&self, report: &mut CheckReport) {
        loop {
            let checkpoint = self.boot().checkpoint;
            let (records, fault) = self.read_log_from(checkpoint);
            if fault.is_some() && self.boot().checkpoint != checkpoint {
                continue;
            }
            report.log_records += records;
            report.log.extend(fault);
            return;
        }
    }

    /// The number of records, and what is wrong with them. What is being written now may be on disk in part: only what was durable
    /// when reading began counts.
    fn read_log_from(&self, checkpoint: Lsn) -> (u64, Option<String>) {
        let durable = self.storage.log.flushed();
        let mut scan = match self.storage.log.scan(checkpoint) {
            Ok(scan) => scan,
            Err(error) => return (0, Some(error.message)),
        };
        let mut records = 0;
        while scan.position() < durable && cancel::spend(1).is_ok() {
            match scan.next() {
                Ok(Some(_)) => records += 1,
                Ok(None) => {
                    let end = scan.position();
                    let short = format!("The log ends at {end}, before {durable}, up to which it was made durable.");
                    return (records, (end < durable).then_some(short));
                }
                Err(error) => return (records, Some(error.message)),
            }
        }
        (records, None)
    }
}
