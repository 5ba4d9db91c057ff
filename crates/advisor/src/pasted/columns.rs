//! The columns of `DBCC LOGINFO`, `sys.dm_db_log_info` and our own outputs, by their names or their number.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    DatabaseName,
    DatabaseId,
    FileId,
    Offset,
    Bytes,
    Megabytes,
    CreateLsn,
    GrowthStep,
    Sequence,
    Status,
    /// A known column that says nothing of the layout.
    Other,
}

/// The column of a heading; `None` = no name that is known.
pub(super) fn by_name(name: &str) -> Option<Column> {
    let name: String = name.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    Some(match name.as_str() {
        "databasename" | "dbname" | "database" => Column::DatabaseName,
        "databaseid" | "dbid" => Column::DatabaseId,
        "fileid" => Column::FileId,
        "startoffset" | "vlfbeginoffset" | "offset" => Column::Offset,
        "filesize" | "size" => Column::Bytes,
        "vlfsizemb" | "filesizemb" | "sizemb" | "sizeinmb" | "vlfsizeinmb" => Column::Megabytes,
        "createlsn" | "vlfcreatelsn" => Column::CreateLsn,
        "growthstep" => Column::GrowthStep,
        "fseqno" | "vlfsequencenumber" | "sequence" => Column::Sequence,
        "status" | "vlfstatus" => Column::Status,
        "recoveryunitid"
        | "recoveryunit"
        | "parity"
        | "vlfactive"
        | "vlfparity"
        | "vlffirstlsn"
        | "vlfencryptorthumbprint"
        | "uses"
        | "state"
        | "blocks"
        | "records" => Column::Other,
        _ => return None,
    })
}

const LOGINFO_7: [Column; 7] = [
    Column::FileId,
    Column::Bytes,
    Column::Offset,
    Column::Sequence,
    Column::Status,
    Column::Other,
    Column::CreateLsn,
];

const LOG_INFO_VIEW: [Column; 10] = [
    Column::DatabaseId,
    Column::FileId,
    Column::Offset,
    Column::Megabytes,
    Column::Sequence,
    Column::Other,
    Column::Status,
    Column::Other,
    Column::Other,
    Column::CreateLsn,
];

/// The columns of a text without a heading, by their number.
pub(super) fn by_count(count: usize) -> Option<Vec<Column>> {
    match count {
        7 => Some(LOGINFO_7.to_vec()),
        8 => Some([Column::Other].into_iter().chain(LOGINFO_7).collect()),
        10 => Some(LOG_INFO_VIEW.to_vec()),
        11 => Some(LOG_INFO_VIEW.into_iter().chain([Column::Other]).collect()),
        _ => None,
    }
}
