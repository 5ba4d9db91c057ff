//! The requests that SQL Server makes when it works on its log, by version, with their sources, and with gaps where nothing is published.
//!
//! | work | requests | versions | source |
//! |---|---|---|---|
//! | growth, creation | zeros over the new space by one thread, one write at a time; the size of a write is 4 MB since 2016, before it is assumed to be 1 MB | all; none for automatic growths up to 64 MB since 2022 | Bob Dorr, "SQL Server on Linux: Forced Unit Access" and techcommunity 3199185, 2018; sql-docs, instant file initialization |
//! | startup: discovery | one header after the other, by one thread, before analysis begins | 2005 to 2012 | Microsoft's psssql, 2009-05-21. One small read for each is inferred: it gives the 4.88 ms a VLF that Graham Kent measured (2008-05-16) |
//! | startup: discovery | not published; 10,000 VLFs took 4 s longer than 20 | 2014 and later | Bob Ward, microsoft/bobsql, vlftestnotes, 2024 |
//! | startup: analysis, redo, undo | the log forward, at most 120 KB at a time, through all VLFs that are needed | all; builds without KB 2455009 search for each VLF again: 2005 before SP4 CU1, 2008 before SP1 CU12 and SP2 CU2, 2008 R2 before CU6 | TechEd 2006, DAT334; support.microsoft.com/kb/2455009. How much longer they take is not published |
//! | startup: analysis | a table of transactions with too few buckets, so millions of transactions since the last checkpoint take long: processor time, no requests | 2008 before SP3 CU1, 2008 R2 of that time | support.microsoft.com/kb/2524743 |
//! | log backup | reads of up to 1 MB, as many in flight as the backup has buffers: for one file on one volume 3 + 1 + 2 = 6 | all | traces with flag 3213: psssql, 2008-02-06 (6 buffers, 1,024 KB), Jonathan Kehayias, "An XEvent a Day", 18 of 31 (the formula); the reader's requests are asynchronous: psssql, "SQL Server Backup Buffer Exchange" |
//! | restore | recreates the log file with a header for each VLF, then finds the VLFs | all; slow lists of VLFs in builds without KB 2653893: 2008 before SP2 CU8, 2012 before CU1 | trace flag 3004 ("Zeroing ..._log.ldf"), sqlservergeeks.com; support.microsoft.com/kb/2653893. How much longer they take is not published |
//!
//! We infer that a backup reads the log through the same buffers as the data files: a trace shows one set of buffers for a backup. So the
//! slow end of a log backup's price is the disk at its worst with one buffer in use. We also infer that no read crosses the end of a VLF,
//! because backups took longer with many VLFs (Blog do Ezequiel, 2010).
//!
//! For 2014 and later we found no timed experiment on named hardware except the one above. Where the table says "not published", the price
//! is that of the older method, and its range includes the published figures.

/// Bytes that a log backup reads at a time, at most.
pub const BACKUP_READ_BYTES: u64 = 1_048_576;
/// Reads of a log backup under way at once.
pub const BACKUP_READS: usize = 6;

/// How the servers of some versions go about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Practice {
    /// Seconds of a VLF at a start that were published of such a server, where its requests were not.
    pub published_vlf_s: Option<f64>,
}

impl Practice {
    /// SQL Server 2005 to 2012.
    pub const SERIAL_DISCOVERY: Practice = Practice { published_vlf_s: None };
    /// SQL Server 2014 and later: 4 s for 10,000 VLFs.
    pub const UNPUBLISHED_DISCOVERY: Practice = Practice {
        published_vlf_s: Some(4.0 / 10_000.0),
    };
}
