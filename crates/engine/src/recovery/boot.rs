//! The boot record: the facts about a database that are needed before its log can be read.
//!
//! It is small, fixed, and written durably in two alternating copies (see `store::space`), so that a torn write loses at
//! most the newer copy. Layout, little-endian:
//! ```text
//!  0 u32 format | 4 guid (16) | 20 i32 days, u32 ticks of creation | 28 u8 recovery model | 29 u8 flags | 30 u16 compatibility
//! 32 checkpoint lsn (10) | 42 redo start lsn (10) | 52 next log backup starts at lsn (10) | 62 last full backup's lsn (10)
//! 72 i32,u32 last full backup | 80 i32,u32 last log backup | 88 catalog root page u32, file u16 | 94 u64 next transaction id
//! 102 u32 catalog object | 106 restored to lsn (10) | 116 recovery fork (16) | 132 its parent (16) | 148 fork point lsn (10), zero
//! for a fork without a parent | 158 restore position lsn (10)
//!                                                                                 format 2 ends here
//! 168 ids not promised yet: u32 unit, u32 object | 176 u16 server version, u16 log policy of the instance, 0 = not said
//! 180 u32 features in use that a reader must know: 1 = collations other than the default one, 2 = index entries with values,
//! 4 = statistics, or their options, 8 = options of the database, 16 = foreign keys with actions, 32 = table types,
//! 64 = extended properties, 128 = rowversion columns, 256 = lock information in log records, 512 = large values outside of rows,
//! 1024 = triggers, 2048 = pages and extents given back, 4096 = sequences,
//! 8192 = computed columns, 16384 = indexes with a filter, 32768 = READ_COMMITTED_SNAPSHOT, ALLOW_SNAPSHOT_ISOLATION,
//! 65536 = XML schema collections, 131072 = synonyms,
//! 262144 = indexes that are switched off, 524288 = decisions about transactions in several databases,
//! 1048576 = change maps, to be kept as pages are written, 2097152 = snapshots, for which pages are kept before they are overwritten,
//! 4194304 = a clone: the catalog has rows and pages that tables are believed to have,
//! 8388608 = changes of open transactions that were carried forward in the log, 16777216 = triggers of the database,
//! 33554432 = copies, for which pages are kept before they are overwritten, 67108864 = log records with links, and transactions undone page by
//! page, 134217728 = extents of large values given back, 268435456 = temporal tables,
//! 536870912 = columns of json, 1073741824 = indexed views, 2147483648 = features beyond these, at 232
//! 184 u8 default collation, by number | 185 u8 options of statistics: 1 = not made automatically, 2 = not updated automatically,
//! 4 = updated in the background | 186 u8 options of the database: 1 = PARAMETERIZATION FORCED,
//! 2 = READ_ONLY, 4 = RECURSIVE_TRIGGERS, 8 = READ_COMMITTED_SNAPSHOT, 16 = ALLOW_SNAPSHOT_ISOLATION,
//! 32 = made by DBCC CLONEDATABASE, 64 = and verified, 128 = ACCELERATED_DATABASE_RECOVERY
//! 187 zero | 192 u64 row versions not promised yet, 0 = as at first | 200 base of differential backups: guid of its set (16), zero =
//! none | 216 u64 generation of the change maps (see `buffer::changes`) | 224 i32,u32 last CHECKDB that found nothing, 0 = none known
//! 232 u32 further features: 1 = filegroups beside PRIMARY, 2 = partitions, 4 = defaults and rules of their own, 8 = columns of geometry or
//! geography, 16 = sequences with numbers of more than 64 bits, 64 = marked transactions; 0 although the bit is set: filegroups
//! 236 zero .. 256 room for later versions
//! ```
//! Flags: 1 = clean, 2 = restoring, 4 = still to be upgraded, 8 = restoring: a differential backup is being copied, 16 = restoring: nothing
//! but the base was. A record of format 2 is read as one that is still to be upgraded, and written as one of format 3. `database::upgrade`
//! describes the upgrade and when it is repeated.
//!
//! A feature that a later version adds to format 3 uses the room above, or the space that `page`, `store`, `types::row` and `catalog` keep
//! free. It has a feature bit, which is set when a database first uses it. A version that does not know a bit refuses the database as one
//! of a later version instead of misreading it.
//!
//! Invariants:
//! - `redo_start <= checkpoint`; every page change before `redo_start` is in the data files.
//! - The counters of ids and row versions never decrease, and no value at or above them is in use, unless the record says that an upgrade
//!   is due.

use crate::error::{Error, Result};
use crate::log::{ForkId, ForkOrigin, LogPath};
use crate::page::PageId;
use crate::seams::DateTimeTicks;
use crate::store::IdCounters;
use vlf::Lsn;

/// The format that is written; other rooms name it `database::FORMAT`. Format 1, of before the first release, did not know
/// recovery forks and is refused.
pub const FORMAT: u32 = 3;
/// The oldest format read.
pub const OLDEST_FORMAT: u32 = 2;
/// Bytes of an encoded record.
pub const BOOT_BYTES: usize = 256;
/// Bytes of a record of format 2.
const FORMAT_2_BYTES: usize = 168;
const AT_IDS: usize = FORMAT_2_BYTES;
const AT_ROW_VERSION: usize = 192;
const AT_CHANGE_BASE: usize = 200;
const AT_CHANGE_GENERATION: usize = 216;
const AT_LAST_GOOD_CHECK: usize = 224;
const AT_FURTHER_FEATURES: usize = 232;
const AT_SERVER_VERSION: usize = 176;
const AT_LOG_POLICY: usize = 178;
const AT_FEATURES: usize = 180;
const AT_COLLATION: usize = 184;
/// Columns or the database have a collation of their own. Another collation that comes later is another feature.
const FEATURE_COLLATIONS: u32 = 1;
/// Entries of some index carry values of columns beside their row's locator.
const FEATURE_CARRIED_COLUMNS: u32 = 2;
/// The catalog has statistics, or the record has options of theirs.
const FEATURE_STATISTICS: u32 = 4;
/// The record has options of the database.
const FEATURE_OPTIONS: u32 = 8;
/// Foreign keys with actions other than NO ACTION. A reader that does not know them would take them for that.
const FEATURE_REFERENTIAL_ACTIONS: u32 = 16;
/// Bit of the features: the catalog has table types.
const FEATURE_TABLE_TYPES: u32 = 32;
/// Bit of the features: the catalog has extended properties.
const FEATURE_EXTENDED_PROPERTIES: u32 = 64;
/// Bit of the features: the catalog has columns of type rowversion, which must get values.
const FEATURE_ROW_VERSIONS: u32 = 128;
/// Bit of the features: log records may end with lock information.
const FEATURE_LOCK_INFORMATION: u32 = 256;
/// Bit of the features: rows may have columns that lie outside of them.
const FEATURE_LARGE_VALUES: u32 = 512;
/// Bit of the features: tables or views have triggers, which changes must fire.
const FEATURE_TRIGGERS: u32 = 1024;
/// Bit of the features: heaps and trees may have given up pages, and their lists extents.
const FEATURE_FREED_PAGES: u32 = 2048;
/// Bit of the features: the catalog has sequences.
const FEATURE_SEQUENCES: u32 = 4096;
/// Bit of the features: tables have computed columns, of which rows have nothing unless they are stored.
const FEATURE_COMPUTED_COLUMNS: u32 = 8192;
/// Bit of the features: indexes have entries for some of the rows alone.
const FEATURE_FILTERED_INDEXES: u32 = 16384;
/// Readers go by versions of rows, which writers have to keep.
const FEATURE_VERSIONS: u32 = 32768;
/// Bit of the features: the catalog has XML schema collections.
const FEATURE_XML_SCHEMAS: u32 = 65_536;
/// Bit of the features: the catalog has synonyms.
const FEATURE_SYNONYMS: u32 = 131_072;
/// Bit of the features: indexes are switched off.
const FEATURE_DISABLED_INDEXES: u32 = 262_144;
/// Bit of the features: master's catalog may have decisions about transactions in several databases.
const FEATURE_DECISIONS: u32 = 524_288;
/// Bit of the features: extents are marked in change maps as they are written.
const FEATURE_CHANGE_MAPS: u32 = 1_048_576;
/// Bit of the features: a database snapshot wants pages before they are overwritten.
const FEATURE_SNAPSHOTS: u32 = 2_097_152;
/// Bit of the features: the catalog may have counts that tables of a clone are believed to have.
const FEATURE_CLONE: u32 = 4_194_304;
/// Bit of the features: the log may have changes of open transactions that were carried forward, which their rollback needs.
const FEATURE_CARRIED_CHANGES: u32 = 8_388_608;
/// Bit of the features: the catalog has triggers of the database, which definitions must fire.
const FEATURE_DATABASE_TRIGGERS: u32 = 16_777_216;
/// Bit of the features: a copy wants pages before they are overwritten.
const FEATURE_COPIES: u32 = 33_554_432;
/// Log records may have links, and transactions be undone page by page.
const FEATURE_LINKS: u32 = 67_108_864;
/// Bit of the features: units of large values may have given back extents.
const FEATURE_FREED_LARGE_EXTENTS: u32 = 134_217_728;
/// Bit of the features: tables have the period SYSTEM_TIME or are history, which changes must keep.
const FEATURE_TEMPORAL_TABLES: u32 = 268_435_456;
/// Bit of the features: tables, table types, views or functions have columns of json.
const FEATURE_JSON: u32 = 536_870_912;
/// Bit of the features: views have rows of their own, which changes of the tables that they read must keep right.
const FEATURE_INDEXED_VIEWS: u32 = 1_073_741_824;
/// Bit of the features: there are further ones, which a version that knows none of them has to refuse.
const FEATURE_FURTHER: u32 = 2_147_483_648;
/// Bit of the further features: extents belong to filegroups.
const FURTHER_DATA_SPACES: u32 = 1;
/// Bit of the further features: there are partition functions, schemes or partitioned tables.
const FURTHER_PARTITIONS: u32 = 2;
/// Bit of the further features: there are defaults and rules of their own, which columns may have bound.
const FURTHER_STANDALONE_OBJECTS: u32 = 4;
/// Bit of the further features: tables, table types, views or functions have columns of geometry or geography.
const FURTHER_SPATIAL_COLUMNS: u32 = 8;
/// Bit of the further features: sequences have numbers of more than 64 bits.
const FURTHER_WIDE_SEQUENCES: u32 = 16;
/// Bit of the further features: Commit records in the log may have marks.
const FURTHER_MARKS: u32 = 64;
const FURTHER_KNOWN: u32 = FURTHER_DATA_SPACES
    | FURTHER_PARTITIONS
    | FURTHER_STANDALONE_OBJECTS
    | FURTHER_SPATIAL_COLUMNS
    | FURTHER_WIDE_SEQUENCES
    | FURTHER_MARKS;
// Every bit of the first word has a meaning: what a later version adds is a further feature.
const AT_STATISTICS: usize = 185;
const AT_OPTIONS: usize = 186;
/// PARAMETERIZATION FORCED, among the options of the database.
const OPTION_FORCED: u8 = 1;
/// READ_ONLY, among the options of the database.
const OPTION_READ_ONLY: u8 = 2;
/// RECURSIVE_TRIGGERS ON, among the options of the database.
const OPTION_RECURSIVE_TRIGGERS: u8 = 4;
/// READ_COMMITTED_SNAPSHOT ON, among the options of the database.
const OPTION_READS_VERSIONS: u8 = 8;
/// ALLOW_SNAPSHOT_ISOLATION ON, among the options of the database.
const OPTION_SNAPSHOTS: u8 = 16;
/// Made by DBCC CLONEDATABASE.
const OPTION_CLONE: u8 = 32;
/// A clone that was found whole.
const OPTION_VERIFIED_CLONE: u8 = 64;
/// ACCELERATED_DATABASE_RECOVERY ON, among the options of the database.
const OPTION_ACCELERATED_RECOVERY: u8 = 128;

/// How much of the log is kept, and so what can be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryModel {
    /// Log kept until backed up.
    Full,
    /// As FULL here: bulk operations are fully logged all the same.
    BulkLogged,
    /// Log reused after a checkpoint.
    Simple,
}

impl RecoveryModel {
    /// `recovery_model_desc` in `sys.databases`.
    pub fn name(self) -> &'static str {
        match self {
            RecoveryModel::Full => "FULL",
            RecoveryModel::BulkLogged => "BULK_LOGGED",
            RecoveryModel::Simple => "SIMPLE",
        }
    }

    /// `recovery_model` in `sys.databases`.
    pub fn number(self) -> u8 {
        match self {
            RecoveryModel::Full => 1,
            RecoveryModel::BulkLogged => 2,
            RecoveryModel::Simple => 3,
        }
    }

    /// From `sys.databases.recovery_model`.
    pub fn from_number(number: u8) -> Option<RecoveryModel> {
        [RecoveryModel::Full, RecoveryModel::BulkLogged, RecoveryModel::Simple]
            .into_iter()
            .find(|model| model.number() == number)
    }
}

/// Features in use that the second word of them names; none is taken back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FurtherFeatures {
    /// There are, or were, filegroups beside PRIMARY; of master: in an entry of a database.
    pub has_data_spaces: bool,
    /// There are, or were, partition functions, schemes or partitioned tables.
    pub has_partitions: bool,
    /// There are, or were, defaults and rules of their own.
    pub has_standalone_objects: bool,
    /// Tables, table types, views or functions have columns of geometry or geography; stays set once it was.
    pub has_spatial_columns: bool,
    /// There are, or were, sequences with numbers of more than 64 bits.
    pub has_wide_sequences: bool,
    /// Transactions have committed with a mark.
    pub has_marks: bool,
}

impl FurtherFeatures {
    /// Those of both.
    pub fn with(self, other: FurtherFeatures) -> FurtherFeatures {
        FurtherFeatures {
            has_data_spaces: self.has_data_spaces || other.has_data_spaces,
            has_partitions: self.has_partitions || other.has_partitions,
            has_standalone_objects: self.has_standalone_objects || other.has_standalone_objects,
            has_spatial_columns: self.has_spatial_columns || other.has_spatial_columns,
            has_wide_sequences: self.has_wide_sequences || other.has_wide_sequences,
            has_marks: self.has_marks || other.has_marks,
        }
    }

    fn word(self) -> u32 {
        let feature = |is_used: bool, bit: u32| if is_used { bit } else { 0 };
        feature(self.has_data_spaces, FURTHER_DATA_SPACES)
            | feature(self.has_partitions, FURTHER_PARTITIONS)
            | feature(self.has_standalone_objects, FURTHER_STANDALONE_OBJECTS)
            | feature(self.has_spatial_columns, FURTHER_SPATIAL_COLUMNS)
            | feature(self.has_wide_sequences, FURTHER_WIDE_SEQUENCES)
            | feature(self.has_marks, FURTHER_MARKS)
    }

    /// Those of a record. One that promises further features and names none is by a build whose highest bit of the first word meant filegroups.
    fn read(bytes: &[u8; BOOT_BYTES]) -> FurtherFeatures {
        let word = number_at(bytes, AT_FURTHER_FEATURES);
        let is_older = word == 0 && number_at(bytes, AT_FEATURES) & FEATURE_FURTHER != 0;
        FurtherFeatures {
            has_data_spaces: word & FURTHER_DATA_SPACES != 0 || is_older,
            has_partitions: word & FURTHER_PARTITIONS != 0,
            has_standalone_objects: word & FURTHER_STANDALONE_OBJECTS != 0,
            has_spatial_columns: word & FURTHER_SPATIAL_COLUMNS != 0,
            has_wide_sequences: word & FURTHER_WIDE_SEQUENCES != 0,
            has_marks: word & FURTHER_MARKS != 0,
        }
    }
}

/// See the module's picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootRecord {
    /// Tells this database from every other; backups and log files carry it too.
    pub guid: [u8; 16],
    /// When it was created or restored under its name.
    pub created: DateTimeTicks,
    /// FULL, BULK_LOGGED or SIMPLE.
    pub recovery_model: RecoveryModel,
    /// True between a clean shutdown and the next start.
    pub clean: bool,
    /// True while a restore sequence is unfinished (RESTORING).
    pub restoring: bool,
    /// 80 to 170.
    pub compatibility_level: u16,
    /// CheckpointBegin of the last finished checkpoint: analysis starts here.
    pub checkpoint: Lsn,
    /// Redo starts here.
    pub redo_start: Lsn,
    /// First record the next log backup must contain; zero before the first full backup (no chain yet).
    pub log_backup_start: Lsn,
    /// Checkpoint of the last full backup; zero when there is none.
    pub full_backup: Lsn,
    /// When the last full backup finished; zero when there is none.
    pub full_backup_time: DateTimeTicks,
    /// When the last log backup finished; zero when there is none.
    pub log_backup_time: DateTimeTicks,
    /// First page of the catalog's heap.
    pub catalog_root: PageId,
    /// The catalog's allocation unit.
    pub catalog_object: u32,
    /// No transaction with this id or above exists in the log up to the checkpoint.
    pub next_transaction: u64,
    /// While restoring: the log has been rolled forward up to this block. One that STOPAT has cut begins here.
    pub restored_to: Lsn,
    /// While restoring: the first record that has not been restored, which may lie in the block at `restored_to`.
    pub restore_position: Lsn,
    /// The recovery path that the log has taken.
    pub path: LogPath,
    /// The pages and the catalog are of format 2: ids above `ids` may be in use.
    pub needs_upgrade: bool,
    /// Ids and row versions from here on have not been promised.
    pub ids: IdCounters,
    /// In master: the server version that the instance was last started as; 0 = not said. See `instance::remembered`.
    pub server_version: u16,
    /// In master: the log policy that it was last started with; 0 = not said.
    pub log_policy: u16,
    /// Columns or the database have a collation that is not the default one; stays set once it was.
    pub has_collations: bool,
    /// The catalog has statistics, or they have options; stays set once it was.
    pub has_statistics: bool,
    /// The options of statistics, as the layout above numbers them.
    pub statistics_options: u8,
    pub is_parameterization_forced: bool,
    /// RECURSIVE_TRIGGERS is ON.
    pub has_recursive_triggers: bool,
    /// READ_COMMITTED_SNAPSHOT is ON.
    pub reads_committed_versions: bool,
    /// ALLOW_SNAPSHOT_ISOLATION is ON.
    pub allows_snapshots: bool,
    /// READ_ONLY.
    pub is_read_only: bool,
    /// ACCELERATED_DATABASE_RECOVERY is ON.
    pub is_recovery_accelerated: bool,
    /// The log has, or had, changes that were carried forward.
    pub has_carried_changes: bool,
    /// DBCC CLONEDATABASE has made it.
    pub is_clone: bool,
    /// It is a clone that WITH VERIFY_CLONEDB found whole.
    pub is_verified_clone: bool,
    /// Whether a foreign key may have actions other than NO ACTION.
    pub has_referential_actions: bool,
    /// The catalog has, or had, table types.
    pub has_table_types: bool,
    /// The catalog has, or had, extended properties.
    pub has_extended_properties: bool,
    /// Entries of an index carry values (`catalog::IndexDefinition::carried`); stays set once it was.
    pub has_carried_columns: bool,
    /// A table has a column of type rowversion; stays set once one had.
    pub has_row_versions: bool,
    /// Log records may end with lock information.
    pub has_lock_information: bool,
    /// Rows may have columns that lie outside of them; stays set once one had.
    pub has_large_values: bool,
    /// A table or view has a trigger; stays set once one had.
    pub has_triggers: bool,
    /// Heaps and trees may have given up pages.
    pub has_freed_pages: bool,
    /// Units of large values may have given back extents.
    pub has_freed_large_extents: bool,
    /// The catalog has a sequence; stays set once it had.
    pub has_sequences: bool,
    /// A table has a computed column; stays set once one had.
    pub has_computed_columns: bool,
    /// An index has a filter; stays set once one had.
    pub has_filtered_indexes: bool,
    /// The catalog has an XML schema collection; stays set once it had.
    pub has_xml_schemas: bool,
    /// The catalog has a trigger of the database; stays set once it had.
    pub has_database_triggers: bool,
    /// Whether the catalog has synonyms.
    pub has_synonyms: bool,
    /// Whether indexes are switched off.
    pub has_disabled_indexes: bool,
    /// In master: the catalog has, or had, decisions about transactions in several databases.
    pub has_decisions: bool,
    /// There are, or were, snapshots of it.
    pub has_snapshots: bool,
    /// There are, or were, copies of it that read its pages.
    pub has_copies: bool,
    /// Log records have, or had, links.
    pub has_links: bool,
    /// A table has the period SYSTEM_TIME, or is a history table; stays set once one was.
    pub has_temporal_tables: bool,
    /// Whether views have rows of their own.
    pub has_indexed_views: bool,
    /// A table, table type, view or function has a column of json; stays set once one had.
    pub has_json: bool,
    /// What the second word of features says.
    pub further: FurtherFeatures,
    /// The number of the collation of new columns (`types::Collation`); 0 is the default one.
    pub collation: u8,
    /// The set on which differential backups are based; zero = none.
    pub change_base: [u8; 16],
    /// The generation of the change maps that count.
    pub change_generation: u64,
    /// When the last CHECKDB began that found nothing; zero when none is known.
    pub last_good_check: DateTimeTicks,
    /// While restoring: the pages of a differential backup are being copied, and are of two moments until that is done.
    pub differential_under_way: bool,
    /// While restoring: the base of differential backups was restored, and nothing since.
    pub nothing_but_base: bool,
}

impl BootRecord {
    /// What a new database begins with, in SIMPLE at level 80, before it has a catalog and a checkpoint.
    pub fn of_new_database(guid: [u8; 16], created: DateTimeTicks) -> BootRecord {
        BootRecord {
            guid,
            created,
            recovery_model: RecoveryModel::Simple,
            clean: false,
            restoring: false,
            compatibility_level: 80,
            checkpoint: Lsn::ZERO,
            redo_start: Lsn::ZERO,
            log_backup_start: Lsn::ZERO,
            full_backup: Lsn::ZERO,
            full_backup_time: DateTimeTicks::default(),
            log_backup_time: DateTimeTicks::default(),
            catalog_root: PageId::NONE,
            catalog_object: 0,
            next_transaction: 1,
            restored_to: Lsn::ZERO,
            restore_position: Lsn::ZERO,
            path: LogPath::of_new_database(guid),
            needs_upgrade: false,
            ids: IdCounters::FIRST,
            server_version: 0,
            log_policy: 0,
            has_collations: false,
            has_statistics: false,
            statistics_options: 0,
            is_parameterization_forced: false,
            has_recursive_triggers: false,
            reads_committed_versions: false,
            allows_snapshots: false,
            is_read_only: false,
            is_recovery_accelerated: false,
            has_carried_changes: false,
            is_clone: false,
            is_verified_clone: false,
            has_referential_actions: false,
            has_table_types: false,
            has_extended_properties: false,
            has_carried_columns: false,
            has_row_versions: false,
            has_lock_information: false,
            has_large_values: false,
            has_triggers: false,
            has_freed_pages: false,
            has_freed_large_extents: false,
            has_sequences: false,
            has_computed_columns: false,
            has_filtered_indexes: false,
            has_xml_schemas: false,
            has_database_triggers: false,
            has_synonyms: false,
            has_disabled_indexes: false,
            has_decisions: false,
            has_snapshots: false,
            has_copies: false,
            has_links: false,
            has_temporal_tables: false,
            has_indexed_views: false,
            has_json: false,
            further: FurtherFeatures::default(),
            collation: 0,
            change_base: [0; 16],
            change_generation: 0,
            last_good_check: DateTimeTicks::default(),
            differential_under_way: false,
            nothing_but_base: false,
        }
    }

    /// The features in use that a reader must know.
    fn features(&self) -> u32 {
        let feature = |is_used: bool, bit: u32| if is_used { bit } else { 0 };
        feature(self.has_collations, FEATURE_COLLATIONS)
            | feature(self.has_carried_columns, FEATURE_CARRIED_COLUMNS)
            | feature(self.has_statistics, FEATURE_STATISTICS)
            | feature(
                self.is_parameterization_forced || self.is_read_only || self.has_recursive_triggers,
                FEATURE_OPTIONS,
            )
            | feature(self.reads_committed_versions || self.allows_snapshots, FEATURE_VERSIONS)
            | feature(self.has_referential_actions, FEATURE_REFERENTIAL_ACTIONS)
            | feature(self.has_table_types, FEATURE_TABLE_TYPES)
            | feature(self.has_extended_properties, FEATURE_EXTENDED_PROPERTIES)
            | feature(self.has_row_versions, FEATURE_ROW_VERSIONS)
            | feature(self.has_lock_information, FEATURE_LOCK_INFORMATION)
            | feature(self.has_large_values, FEATURE_LARGE_VALUES)
            | feature(self.has_triggers, FEATURE_TRIGGERS)
            | feature(self.has_freed_pages, FEATURE_FREED_PAGES)
            | feature(self.has_freed_large_extents, FEATURE_FREED_LARGE_EXTENTS)
            | feature(self.has_sequences, FEATURE_SEQUENCES)
            | feature(self.has_computed_columns, FEATURE_COMPUTED_COLUMNS)
            | feature(self.has_filtered_indexes, FEATURE_FILTERED_INDEXES)
            | feature(self.has_xml_schemas, FEATURE_XML_SCHEMAS)
            | feature(self.has_database_triggers, FEATURE_DATABASE_TRIGGERS)
            | feature(self.has_synonyms, FEATURE_SYNONYMS)
            | feature(self.has_disabled_indexes, FEATURE_DISABLED_INDEXES)
            | feature(self.has_decisions, FEATURE_DECISIONS)
            | feature(self.has_snapshots, FEATURE_SNAPSHOTS)
            | feature(self.has_copies, FEATURE_COPIES)
            | feature(self.has_links, FEATURE_LINKS)
            | feature(self.has_temporal_tables, FEATURE_TEMPORAL_TABLES)
            | feature(self.has_indexed_views, FEATURE_INDEXED_VIEWS)
            | feature(self.has_json, FEATURE_JSON)
            | feature(self.further != FurtherFeatures::default(), FEATURE_FURTHER)
            | feature(self.is_clone, FEATURE_CLONE)
            | feature(
                self.is_recovery_accelerated || self.has_carried_changes,
                FEATURE_CARRIED_CHANGES,
            )
            | feature(self.change_base != [0; 16], FEATURE_CHANGE_MAPS)
    }

    /// The record as bytes.
    pub fn encode(&self) -> [u8; BOOT_BYTES] {
        let mut bytes = [0u8; BOOT_BYTES];
        let flags = u8::from(self.clean)
            | u8::from(self.restoring) << 1
            | u8::from(self.needs_upgrade) << 2
            | u8::from(self.differential_under_way) << 3
            | u8::from(self.nothing_but_base) << 4;
        let mut put = |offset: usize, part: &[u8]| bytes[offset..offset + part.len()].copy_from_slice(part);
        put(0, &FORMAT.to_le_bytes());
        put(4, &self.guid);
        put(20, &encode_time(self.created));
        put(28, &[self.recovery_model.number(), flags]);
        put(30, &self.compatibility_level.to_le_bytes());
        put(32, &self.checkpoint.to_bytes());
        put(42, &self.redo_start.to_bytes());
        put(52, &self.log_backup_start.to_bytes());
        put(62, &self.full_backup.to_bytes());
        put(72, &encode_time(self.full_backup_time));
        put(80, &encode_time(self.log_backup_time));
        put(88, &self.catalog_root.page.to_le_bytes());
        put(92, &self.catalog_root.file.to_le_bytes());
        put(94, &self.next_transaction.to_le_bytes());
        put(102, &self.catalog_object.to_le_bytes());
        put(106, &self.restored_to.to_bytes());
        put(116, &self.path.fork.0);
        if let Some(origin) = self.path.origin {
            put(132, &origin.parent.0);
            put(148, &origin.point.to_bytes());
        }
        put(158, &self.restore_position.to_bytes());
        let counters = self.ids.to_bytes();
        let (ids, row_version) = counters.split_at(IdCounters::ID_BYTES);
        put(AT_IDS, ids);
        put(AT_ROW_VERSION, row_version);
        put(AT_SERVER_VERSION, &self.server_version.to_le_bytes());
        put(AT_LOG_POLICY, &self.log_policy.to_le_bytes());
        put(AT_CHANGE_BASE, &self.change_base);
        put(AT_CHANGE_GENERATION, &self.change_generation.to_le_bytes());
        put(AT_LAST_GOOD_CHECK, &encode_time(self.last_good_check));
        put(AT_FEATURES, &self.features().to_le_bytes());
        put(AT_FURTHER_FEATURES, &self.further.word().to_le_bytes());
        put(AT_COLLATION, &[self.collation, self.statistics_options]);
        let forced = u8::from(self.is_parameterization_forced) * OPTION_FORCED;
        let read_only = u8::from(self.is_read_only) * OPTION_READ_ONLY;
        let recursive = u8::from(self.has_recursive_triggers) * OPTION_RECURSIVE_TRIGGERS;
        let reads_versions = u8::from(self.reads_committed_versions) * OPTION_READS_VERSIONS;
        let snapshots = u8::from(self.allows_snapshots) * OPTION_SNAPSHOTS;
        let clone = u8::from(self.is_clone) * OPTION_CLONE;
        let verified = u8::from(self.is_verified_clone) * OPTION_VERIFIED_CLONE;
        let accelerated = u8::from(self.is_recovery_accelerated) * OPTION_ACCELERATED_RECOVERY;
        let options = forced | read_only | recursive | reads_versions | snapshots | clone | verified | accelerated;
        put(AT_OPTIONS, &[options]);
        bytes
    }

    /// Reads a record.
    ///
    /// # Errors
    /// 824 when the bytes are not one; 950 and 948 for one of an older or a newer format.
    pub fn decode(bytes: &[u8], database: &str) -> Result<BootRecord> {
        let readable = whole(bytes, database)?.and_then(|bytes| BootRecord::read(&bytes));
        let text = format!("the boot record of database '{database}' is not readable");
        readable.ok_or_else(|| Error::damaged_content(&text))
    }

    /// The record of a copy that is whole; `None` when a part of it says nothing that can be.
    fn read(bytes: &[u8; BOOT_BYTES]) -> Option<BootRecord> {
        Some(BootRecord {
            guid: part(bytes, 4),
            created: decode_time(bytes, 20),
            recovery_model: RecoveryModel::from_number(bytes[28])?,
            clean: bytes[29] & 1 != 0,
            restoring: bytes[29] & 2 != 0,
            compatibility_level: u16::from_le_bytes(part(bytes, 30)),
            checkpoint: Lsn::read(bytes, 32)?,
            redo_start: Lsn::read(bytes, 42)?,
            log_backup_start: Lsn::read(bytes, 52)?,
            full_backup: Lsn::read(bytes, 62)?,
            full_backup_time: decode_time(bytes, 72),
            log_backup_time: decode_time(bytes, 80),
            last_good_check: decode_time(bytes, AT_LAST_GOOD_CHECK),
            catalog_root: decode_page(bytes, 88),
            next_transaction: u64::from_le_bytes(part(bytes, 94)),
            catalog_object: number_at(bytes, 102),
            restored_to: Lsn::read(bytes, 106)?,
            restore_position: Lsn::read(bytes, 158)?,
            path: decode_path(bytes)?,
            needs_upgrade: number_at(bytes, 0) == OLDEST_FORMAT || bytes[29] & 4 != 0,
            ids: decode_ids(bytes)?,
            server_version: u16::from_le_bytes(part(bytes, AT_SERVER_VERSION)),
            log_policy: u16::from_le_bytes(part(bytes, AT_LOG_POLICY)),
            has_collations: number_at(bytes, AT_FEATURES) & FEATURE_COLLATIONS != 0,
            has_statistics: number_at(bytes, AT_FEATURES) & FEATURE_STATISTICS != 0,
            has_referential_actions: number_at(bytes, AT_FEATURES) & FEATURE_REFERENTIAL_ACTIONS != 0,
            statistics_options: bytes[AT_STATISTICS],
            is_parameterization_forced: bytes[AT_OPTIONS] & OPTION_FORCED != 0,
            has_recursive_triggers: bytes[AT_OPTIONS] & OPTION_RECURSIVE_TRIGGERS != 0,
            reads_committed_versions: bytes[AT_OPTIONS] & OPTION_READS_VERSIONS != 0,
            allows_snapshots: bytes[AT_OPTIONS] & OPTION_SNAPSHOTS != 0,
            is_read_only: bytes[AT_OPTIONS] & OPTION_READ_ONLY != 0,
            is_recovery_accelerated: bytes[AT_OPTIONS] & OPTION_ACCELERATED_RECOVERY != 0,
            has_carried_changes: number_at(bytes, AT_FEATURES) & FEATURE_CARRIED_CHANGES != 0,
            is_clone: bytes[AT_OPTIONS] & OPTION_CLONE != 0,
            is_verified_clone: bytes[AT_OPTIONS] & OPTION_VERIFIED_CLONE != 0,
            has_table_types: number_at(bytes, AT_FEATURES) & FEATURE_TABLE_TYPES != 0,
            has_extended_properties: number_at(bytes, AT_FEATURES) & FEATURE_EXTENDED_PROPERTIES != 0,
            has_carried_columns: number_at(bytes, AT_FEATURES) & FEATURE_CARRIED_COLUMNS != 0,
            has_row_versions: number_at(bytes, AT_FEATURES) & FEATURE_ROW_VERSIONS != 0,
            has_lock_information: number_at(bytes, AT_FEATURES) & FEATURE_LOCK_INFORMATION != 0,
            has_large_values: number_at(bytes, AT_FEATURES) & FEATURE_LARGE_VALUES != 0,
            has_triggers: number_at(bytes, AT_FEATURES) & FEATURE_TRIGGERS != 0,
            has_freed_pages: number_at(bytes, AT_FEATURES) & FEATURE_FREED_PAGES != 0,
            has_freed_large_extents: number_at(bytes, AT_FEATURES) & FEATURE_FREED_LARGE_EXTENTS != 0,
            has_sequences: number_at(bytes, AT_FEATURES) & FEATURE_SEQUENCES != 0,
            has_computed_columns: number_at(bytes, AT_FEATURES) & FEATURE_COMPUTED_COLUMNS != 0,
            has_filtered_indexes: number_at(bytes, AT_FEATURES) & FEATURE_FILTERED_INDEXES != 0,
            has_xml_schemas: number_at(bytes, AT_FEATURES) & FEATURE_XML_SCHEMAS != 0,
            has_database_triggers: number_at(bytes, AT_FEATURES) & FEATURE_DATABASE_TRIGGERS != 0,
            has_synonyms: number_at(bytes, AT_FEATURES) & FEATURE_SYNONYMS != 0,
            has_disabled_indexes: number_at(bytes, AT_FEATURES) & FEATURE_DISABLED_INDEXES != 0,
            has_decisions: number_at(bytes, AT_FEATURES) & FEATURE_DECISIONS != 0,
            has_snapshots: number_at(bytes, AT_FEATURES) & FEATURE_SNAPSHOTS != 0,
            has_copies: number_at(bytes, AT_FEATURES) & FEATURE_COPIES != 0,
            has_links: number_at(bytes, AT_FEATURES) & FEATURE_LINKS != 0,
            has_temporal_tables: number_at(bytes, AT_FEATURES) & FEATURE_TEMPORAL_TABLES != 0,
            has_indexed_views: number_at(bytes, AT_FEATURES) & FEATURE_INDEXED_VIEWS != 0,
            has_json: number_at(bytes, AT_FEATURES) & FEATURE_JSON != 0,
            further: FurtherFeatures::read(bytes),
            collation: bytes[AT_COLLATION],
            change_base: part(bytes, AT_CHANGE_BASE),
            change_generation: u64::from_le_bytes(part(bytes, AT_CHANGE_GENERATION)),
            differential_under_way: bytes[29] & 8 != 0,
            nothing_but_base: bytes[29] & 16 != 0,
        })
    }
}

fn decode_ids(bytes: &[u8; BOOT_BYTES]) -> Option<IdCounters> {
    Some(IdCounters {
        row_version: u64::from_le_bytes(part(bytes, AT_ROW_VERSION)),
        ..IdCounters::from_bytes(&bytes[AT_IDS..AT_IDS + IdCounters::ID_BYTES])?
    })
}

/// The bytes of a record of a format that is read, those that its format does not have as zeros; `None` when they are too few or
/// name no format.
///
/// # Errors
/// 950 and 948 for other formats.
fn whole(bytes: &[u8], database: &str) -> Result<Option<[u8; BOOT_BYTES]>> {
    let Some(format) = bytes.first_chunk() else {
        return Ok(None);
    };
    let length = match u32::from_le_bytes(*format) {
        FORMAT => BOOT_BYTES,
        OLDEST_FORMAT => FORMAT_2_BYTES,
        0 => return Ok(None),
        older if older < OLDEST_FORMAT => return Err(Error::database_too_old(database, older)),
        newer => return Err(Error::database_too_new(database, newer, FORMAT)),
    };
    let whole = bytes.get(..length).map(|bytes| {
        let mut whole = [0u8; BOOT_BYTES];
        whole[..length].copy_from_slice(bytes);
        whole
    });
    match whole {
        Some(whole) if number_at(&whole, AT_FURTHER_FEATURES) & !FURTHER_KNOWN != 0 => {
            Err(Error::database_too_new(database, FORMAT + 1, FORMAT))
        }
        whole => Ok(whole),
    }
}

fn number_at(bytes: &[u8; BOOT_BYTES], offset: usize) -> u32 {
    u32::from_le_bytes(part(bytes, offset))
}

fn part<const N: usize>(bytes: &[u8; BOOT_BYTES], offset: usize) -> [u8; N] {
    *bytes[offset..]
        .first_chunk()
        .expect("every offset of the layout lies inside the record")
}

fn decode_path(bytes: &[u8; BOOT_BYTES]) -> Option<LogPath> {
    let origin = ForkOrigin {
        parent: ForkId(part(bytes, 132)),
        point: Lsn::read(bytes, 148)?,
    };
    Some(LogPath {
        fork: ForkId(part(bytes, 116)),
        origin: (origin.point != Lsn::ZERO).then_some(origin),
    })
}

fn encode_time(time: DateTimeTicks) -> [u8; 8] {
    let mut bytes = [0u8; 8];
    bytes[..4].copy_from_slice(&time.days.to_le_bytes());
    bytes[4..].copy_from_slice(&time.ticks.to_le_bytes());
    bytes
}

fn decode_page(bytes: &[u8; BOOT_BYTES], offset: usize) -> PageId {
    PageId {
        file: u16::from_le_bytes(part(bytes, offset + 4)),
        page: number_at(bytes, offset),
    }
}

fn decode_time(bytes: &[u8; BOOT_BYTES], offset: usize) -> DateTimeTicks {
    DateTimeTicks {
        days: i32::from_le_bytes(part(bytes, offset)),
        ticks: u32::from_le_bytes(part(bytes, offset + 4)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sample_path(point: Lsn) -> LogPath {
        LogPath {
            fork: ForkId(*b"fedcba9876543210"),
            origin: Some(ForkOrigin {
                parent: ForkId(*b"0123456789abcdef"),
                point,
            }),
        }
    }

    fn time(ticks: u32) -> DateTimeTicks {
        DateTimeTicks { days: 46_000, ticks }
    }

    fn lsn(slot: u16) -> Lsn {
        Lsn::new(20, 217, slot)
    }

    fn sample_ids() -> IdCounters {
        IdCounters {
            unit: 11,
            object: 12,
            row_version: u64::MAX - 2,
        }
    }

    fn every_further_feature() -> FurtherFeatures {
        FurtherFeatures {
            has_data_spaces: true,
            has_partitions: true,
            has_standalone_objects: true,
            has_spatial_columns: true,
            has_wide_sequences: true,
            has_marks: true,
        }
    }

    fn sample() -> BootRecord {
        BootRecord {
            guid: *b"0123456789abcdef",
            created: time(1),
            recovery_model: RecoveryModel::Full,
            clean: false,
            restoring: true,
            compatibility_level: 110,
            checkpoint: lsn(1),
            redo_start: lsn(2),
            log_backup_start: lsn(3),
            full_backup: lsn(4),
            full_backup_time: time(5),
            log_backup_time: time(6),
            catalog_root: PageId { file: 1, page: 16 },
            catalog_object: 7,
            next_transaction: u64::MAX - 1,
            restored_to: lsn(8),
            restore_position: lsn(9),
            path: sample_path(lsn(10)),
            needs_upgrade: false,
            ids: sample_ids(),
            server_version: 13,
            log_policy: 14,
            has_collations: true,
            has_statistics: true,
            statistics_options: 5,
            is_parameterization_forced: true,
            has_recursive_triggers: true,
            reads_committed_versions: true,
            allows_snapshots: true,
            is_read_only: true,
            is_recovery_accelerated: true,
            has_carried_changes: true,
            is_clone: true,
            is_verified_clone: true,
            has_referential_actions: true,
            has_table_types: true,
            has_extended_properties: true,
            has_carried_columns: true,
            has_row_versions: true,
            has_lock_information: true,
            has_large_values: true,
            has_triggers: true,
            has_freed_pages: true,
            has_freed_large_extents: true,
            has_sequences: true,
            has_computed_columns: true,
            has_filtered_indexes: true,
            has_xml_schemas: true,
            has_database_triggers: true,
            has_synonyms: true,
            has_disabled_indexes: true,
            has_decisions: true,
            has_snapshots: true,
            has_copies: true,
            has_links: true,
            has_temporal_tables: true,
            has_indexed_views: true,
            has_json: true,
            further: every_further_feature(),
            collation: 7,
            change_base: *b"base of changes.",
            change_generation: 15,
            last_good_check: time(16),
            differential_under_way: true,
            nothing_but_base: true,
        }
    }

    #[test]
    fn a_boot_record_comes_back_as_it_went() {
        assert_eq!(BootRecord::decode(&sample().encode(), "vlf").unwrap(), sample());
        let mut first = sample();
        first.path.origin = None;
        first.needs_upgrade = true;
        assert_eq!(BootRecord::decode(&first.encode(), "vlf").unwrap(), first);
    }

    /// Read as a record without filegroups it would have been written without a word of them, and opened where they are not known.
    #[test]
    fn a_record_that_names_no_further_feature_has_filegroups() {
        let mut bytes = sample().encode();
        bytes[AT_FURTHER_FEATURES..AT_FURTHER_FEATURES + 4].copy_from_slice(&[0; 4]);
        let record = BootRecord::decode(&bytes, "vlf").unwrap();
        assert!(record.further.has_data_spaces && !record.further.has_partitions);
        let again = BootRecord::decode(&record.encode(), "vlf").unwrap();
        assert!(again.further.has_data_spaces && !again.further.has_partitions);
    }

    #[test]
    fn a_feature_that_is_not_known_is_refused_as_a_later_version() {
        for bit in (0..32).filter(|bit| FURTHER_KNOWN >> bit & 1 == 0) {
            let mut bytes = sample().encode();
            bytes[AT_FURTHER_FEATURES..AT_FURTHER_FEATURES + 4].copy_from_slice(&(1u32 << bit).to_le_bytes());
            assert_eq!(BootRecord::decode(&bytes, "vlf").unwrap_err().number, 948);
        }
    }

    #[test]
    fn a_record_of_format_2_is_one_that_is_to_be_upgraded() {
        let mut bytes = sample().encode()[..FORMAT_2_BYTES].to_vec();
        bytes[0] = 2;
        let expected = BootRecord {
            needs_upgrade: true,
            ids: IdCounters::default(),
            server_version: 0,
            log_policy: 0,
            has_collations: false,
            has_statistics: false,
            statistics_options: 0,
            is_parameterization_forced: false,
            has_recursive_triggers: false,
            reads_committed_versions: false,
            allows_snapshots: false,
            is_read_only: false,
            is_recovery_accelerated: false,
            has_carried_changes: false,
            is_clone: false,
            is_verified_clone: false,
            has_referential_actions: false,
            has_table_types: false,
            has_extended_properties: false,
            has_carried_columns: false,
            has_row_versions: false,
            has_lock_information: false,
            has_large_values: false,
            has_triggers: false,
            has_freed_pages: false,
            has_freed_large_extents: false,
            has_sequences: false,
            has_computed_columns: false,
            has_filtered_indexes: false,
            has_xml_schemas: false,
            has_database_triggers: false,
            has_synonyms: false,
            has_disabled_indexes: false,
            has_decisions: false,
            has_snapshots: false,
            has_copies: false,
            has_links: false,
            has_temporal_tables: false,
            has_indexed_views: false,
            has_json: false,
            further: FurtherFeatures::default(),
            collation: 0,
            change_base: [0; 16],
            change_generation: 0,
            last_good_check: DateTimeTicks::default(),
            ..sample()
        };
        assert_eq!(BootRecord::decode(&bytes, "vlf").unwrap(), expected);
        bytes.pop();
        assert_eq!(BootRecord::decode(&bytes, "vlf").unwrap_err().number, 824);
    }

    #[test]
    fn bytes_that_are_no_boot_record_are_refused() {
        assert_eq!(BootRecord::decode(&[0; 60], "vlf").unwrap_err().number, 824);
        let mut bytes = sample().encode();
        assert_eq!(
            BootRecord::decode(&bytes[..FORMAT_2_BYTES], "vlf").unwrap_err().number,
            824
        );
        for (format, number) in [(0, 824), (1, 950), (9, 948)] {
            bytes[0] = format;
            assert_eq!(BootRecord::decode(&bytes, "vlf").unwrap_err().number, number);
        }
    }
}
