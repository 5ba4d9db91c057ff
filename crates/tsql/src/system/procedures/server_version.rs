//! `xp_msver` (sql-docs, "xp_msver"): the version of the server and its machine, a row for each property.
//!
//! A property without a meaning here has NULL in both of its columns. Memory is the instance's limit, as in `sys.dm_os_sys_memory`.

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::{NAME, SystemProcedure, text};

pub(super) const PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "xp_msver",
    parameters: &[("@optname", NAME, false)],
    run: server_version,
}];

/// A number and a text, either of which may be none.
type Property = (Option<i32>, Option<String>);

fn server_version(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut table = Table::new(&[
        ("Index", SqlType::SmallInt),
        ("Name", SqlType::SYSNAME),
        ("Internal_Value", SqlType::Int),
        ("Character_Value", SqlType::NVarChar(Length::Limited(255))),
    ]);
    let wanted = text(arguments, 0);
    for (place, (name, (number, words))) in (1..).zip(properties(context)) {
        if wanted.is_none_or(|wanted| wanted.eq_ignore_ascii_case(name)) {
            table.push(vec![Value::SmallInt(place), name.into(), number.into(), words.into()]);
        }
    }
    table.send(host).map(|()| 0)
}

fn properties(context: &SystemContext<'_>) -> Vec<(&'static str, Property)> {
    let version = context.instance.options.version;
    let (major, minor) = version.product_version();
    let build = version.build();
    let words = |words: &str| (None, Some(words.to_owned()));
    let version_text = || Some(format!("{major}.{minor}.{build}.0"));
    let processors =
        std::thread::available_parallelism().map_or(1, |count| i32::try_from(count.get()).unwrap_or(i32::MAX));
    let bytes = context.instance.options.max_server_memory_bytes;
    let megabytes = i32::try_from(bytes >> 20).unwrap_or(i32::MAX);
    let mask = format!(
        "{:16x}",
        u64::MAX.checked_shr(64 - processors.clamp(1, 64) as u32).unwrap_or(0)
    );
    vec![
        ("ProductName", words("Microsoft SQL Server")),
        (
            "ProductVersion",
            (Some(i32::from(major) << 16 | i32::from(minor)), version_text()),
        ),
        ("Language", (Some(1033), Some("English (United States)".to_owned()))),
        ("Platform", words("NT x64")),
        ("Comments", words("SQL")),
        ("CompanyName", (None, None)),
        ("FileDescription", (None, None)),
        ("FileVersion", (None, version_text())),
        ("InternalName", words("SQLSERVR")),
        ("LegalCopyright", (None, None)),
        ("LegalTrademarks", (None, None)),
        ("OriginalFilename", words("SQLSERVR.EXE")),
        ("PrivateBuild", (None, None)),
        ("SpecialBuild", (Some(i32::from(build) << 16), None)),
        ("WindowsVersion", (None, None)),
        ("ProcessorCount", (Some(processors), Some(processors.to_string()))),
        ("ProcessorActiveMask", (None, Some(mask))),
        ("ProcessorType", (None, None)),
        (
            "PhysicalMemory",
            (Some(megabytes), Some(format!("{megabytes} ({bytes})"))),
        ),
        ("Product ID", (None, None)),
    ]
}
