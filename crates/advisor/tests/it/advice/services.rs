//! Managed Instance, Azure SQL Database, RDS and availability groups: what the service does itself is left to it, and no T-SQL backs up.

use advisor::snapshot::Source;

use super::recorded::Origin::Made;
use super::recorded::{FIRST_SEQUENCE, Recorded, VLFS};
use super::rows;

const NEWEST: u32 = FIRST_SEQUENCE + VLFS - 1;
const SERVER: &str = "server_name|product_version|edition|engine_edition|clock|login_name";

/// The log is held for want of a log backup, and has 20,480 VLFs. What it was backed up to long ago would be a finding on a server of one's own.
fn held(server: &str) -> Recorded {
    let mut set = Recorded::sales("FULL", "LOG_BACKUP", FIRST_SEQUENCE, 60);
    set.put(Source::Server, SERVER, &[server]);
    set.log_file(655_360, 268_435_456, 8_192, 0);
    set.rows(Source::LogInfoCommand, rows::grown_and_gone_round(1, 1, 5_120));
    set.put(
        Source::Backups,
        "database_name|type|last_finish|backups_7d|bytes_7d|largest_7d",
        &[
            "Sales|D|2026-11-26 01:00:00.000|7|1|1",
            "Sales|L|2026-11-20 11:45:00.000|1|1|1",
        ],
    );
    set
}

/// None of it may be a statement that backs up, and all of it is printed.
fn is_left_to(found: &[advisor::advice::Finding], service: &str) {
    let tsql: Vec<&str> = found.iter().filter_map(|finding| finding.tsql.as_deref()).collect();
    assert!(tsql.iter().any(|text| text.contains(service)), "{service}: {tsql:?}");
    for text in tsql {
        let statements = text.lines().filter(|line| !line.trim_start().starts_with("--"));
        for statement in statements {
            let statement = statement.to_uppercase();
            assert!(
                !statement.trim_start().starts_with("BACKUP") && !statement.contains("SET RECOVERY"),
                "{text}"
            );
        }
    }
}

#[test]
fn a_managed_instance_backs_up_by_itself() {
    let set = held("mi.public.0a1b.database.windows.net|12.0.2000.8|SQL Azure|8|2026-11-26 12:00:00.000|reader");
    let found = set.finds(Made, &["held-by-log-backup", "many-vlfs"]);
    is_left_to(&found, "The service makes log backups by itself");
    is_left_to(&found, "Managed Instance makes the log backups itself");
    assert!(found[0].otherwise.contains("9002 or 40552"), "{}", found[0].otherwise);
}

/// It answers for one database, and has no right to shape its log.
#[test]
fn azure_sql_database_is_told_nothing_about_its_layout() {
    let set = held("shop|12.0.2000.8|SQL Azure|5|2026-11-26 12:00:00.000|reader");
    let found = set.finds(Made, &["held-by-log-backup", "many-vlfs"]);
    is_left_to(&found, "Azure SQL Database keeps the layout of its logs itself");
    assert!(!found[1].tsql.as_ref().unwrap().contains("SHRINKFILE"));
}

/// Its own database gives it away, and nothing that the server says of itself.
#[test]
fn rds_is_known_by_its_database_and_makes_its_own_log_backups() {
    let mut set = held("EC2AMAZ-1A2B3C4|15.0.4385.2|Standard Edition (64-bit)|2|2026-11-26 12:00:00.000|admin");
    let columns = "database_id|name|state_desc|recovery_model_desc|log_reuse_wait_desc|source_database_id|is_read_only|is_in_standby|\
                   is_auto_shrink_on|is_published|is_cdc_enabled|is_accelerated_database_recovery_on|delayed_durability_desc|is_in_group|is_accessible";
    set.put(
        Source::Databases,
        columns,
        &[
            "5|Sales|ONLINE|FULL|LOG_BACKUP|-|0|0|0|0|0|0|DISABLED|0|1",
            "6|rdsadmin|ONLINE|SIMPLE|NOTHING|-|0|0|0|0|0|0|DISABLED|0|0",
        ],
    );
    let found = set.finds(Made, &["log-backup-missing", "many-vlfs"]);
    is_left_to(&found, "RDS makes log backups by itself while automated backups are on");
    is_left_to(&found, "RDS makes the log backups itself");
}

/// Shrinks and growths of a primary are redone on each secondary.
#[test]
fn in_an_availability_group_the_disks_of_the_others_are_named() {
    let mut set = Recorded::sales("FULL", "NOTHING", NEWEST, 8);
    set.database("5|Sales|ONLINE|FULL|NOTHING|-|0|0|0|0|0|0|DISABLED|1|1");
    set.log_file(655_360, 268_435_456, 8_192, 0);
    set.rows(Source::LogInfoCommand, rows::grown_and_gone_round(1, 1, 5_120));
    let found = set.finds(Made, &["many-vlfs"]);
    let tsql = found[0].tsql.as_ref().unwrap();
    assert!(tsql.contains("redone on each secondary"), "{tsql}");
    assert!(!tsql.contains("advise --apply"), "it only prints there: {tsql}");
}
