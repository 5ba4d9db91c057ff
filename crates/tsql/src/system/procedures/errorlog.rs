//! The current error log and the old ones: `sp_readerrorlog` and `xp_readerrorlog` read them, `xp_enumerrorlogs` lists them,
//! `sp_cycle_errorlog` begins a new one.

use engine::error::{Error, Result};
use engine::errorlog::{ErrorLogLine, lines_of};
use engine::memory::{self, Charge};
use engine::seams::DateTimeTicks;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::{INT, SystemProcedure, TEXT, integer, text};
use crate::views::{Withheld, parse_time};

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_readerrorlog",
        parameters: &[
            ("@p1", INT, false),
            ("@p2", INT, false),
            ("@p3", TEXT, false),
            ("@p4", TEXT, false),
        ],
        run: read,
    },
    SystemProcedure {
        name: "xp_readerrorlog",
        parameters: &[
            ("@p1", INT, false),
            ("@p2", INT, false),
            ("@p3", TEXT, false),
            ("@p4", TEXT, false),
            ("@p5", SqlType::DateTime, false),
            ("@p6", SqlType::DateTime, false),
            ("@p7", TEXT, false),
        ],
        run: read,
    },
    SystemProcedure {
        name: "sp_cycle_errorlog",
        parameters: &[],
        run: |_, host, _| host.execute("dbcc errorlog").map(|()| 0),
    },
    SystemProcedure {
        name: "sp_enumerrorlogs",
        parameters: &[("@p1", INT, false)],
        run: list,
    },
    SystemProcedure {
        name: "xp_enumerrorlogs",
        parameters: &[("@p1", INT, false)],
        run: list,
    },
];

/// Log number (0 = this run), kind (1 = the server's), two texts that a line must contain, first and last time, order.
fn read(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    Withheld::check(context.instance, "sp_readerrorlog")?;
    let number = integer(arguments, 0).unwrap_or(0);
    let mut table = Table::new(&[
        ("LogDate", SqlType::DateTime),
        ("ProcessInfo", SqlType::NVarChar(Length::Limited(50))),
        ("Text", SqlType::NVarChar(Length::Limited(4000))),
    ]);
    if !matches!(integer(arguments, 1), None | Some(1)) {
        // Kind 2 is the SQL Server Agent's log; there is no agent.
        return table.send(host).map(|()| 0);
    }
    let log = &context.instance.env.errorlog;
    let (_charge, lines) = match number {
        0 => (memory::require(log.bytes_kept())?, log.lines()),
        _ => former(context, number)?,
    };
    let wanted: Vec<String> = [2, 3]
        .iter()
        .filter_map(|place| text(arguments, *place))
        .map(str::to_lowercase)
        .collect();
    let time = |place: usize| match arguments.get(place) {
        Some(&Value::DateTime { days, ticks }) => Some(DateTimeTicks { days, ticks }),
        _ => None,
    };
    let (first, last) = (time(4), time(5));
    let mut chosen: Vec<&ErrorLogLine> = lines
        .iter()
        .filter(|line| first.is_none_or(|first| line.time >= first) && last.is_none_or(|last| line.time <= last))
        .filter(|line| {
            let folded = line.text.to_lowercase();
            wanted.iter().all(|text| folded.contains(text))
        })
        .collect();
    if text(arguments, 6).is_some_and(|order| order.eq_ignore_ascii_case("desc")) {
        chosen.reverse();
    }
    for line in chosen {
        let time = Value::DateTime {
            days: line.time.days,
            ticks: line.time.ticks,
        };
        let text: String = line.text.chars().take(4000).collect();
        table.push(vec![time, line.source.as_str().into(), text.into()]);
    }
    table.send(host).map(|()| 0)
}

/// Bytes at the end of a log in which its last line is looked for.
const LAST_LINE_BYTES_MAX: u64 = 64 << 10;

/// Each log that is there: its number, when its last line was written (`04/05/2000  20:00`), its bytes. Kind 2 is the SQL Server Agent's.
fn list(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut table = Table::new(&[
        ("Archive #", INT),
        ("Date", SqlType::NVarChar(Length::Limited(24))),
        ("Log File Size (Byte)", INT),
    ]);
    let has_logs = matches!(integer(arguments, 0), None | Some(1));
    let former = context.instance.env.errorlog.file_limits().former;
    for number in (0..=former).filter(|_| has_logs) {
        let path = context.instance.errorlog_path(number);
        let disk = &context.instance.env.disk;
        let (Ok(Some(bytes)), Ok(file)) = (disk.len(&path), disk.open(&path, disk::Access::Buffered)) else {
            continue;
        };
        let mut end = vec![0; bytes.min(LAST_LINE_BYTES_MAX) as usize];
        // One that cannot be read is there all the same.
        let last = match file.read_at(bytes - end.len() as u64, &mut end) {
            Ok(()) => lines_of(&String::from_utf8_lossy(&end), parse_time).pop(),
            Err(_) => None,
        };
        let date = last.map_or(Value::Null, |line| {
            let text = line.time.errorlog_text();
            let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default().to_owned();
            format!("{}/{}/{}  {}", part(5..7), part(8..10), part(0..4), part(11..16)).into()
        });
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        table.push(vec![(number as i32).into(), date, bytes.into()]);
    }
    table.send(host).map(|()| 0)
}

/// The lines of a former run's file, and the memory that they take.
fn former(context: &SystemContext<'_>, number: i64) -> Result<(Charge, Vec<ErrorLogLine>)> {
    let path = context
        .instance
        .errorlog_path(usize::try_from(number).unwrap_or_default());
    let missing = || {
        let text = format!(
            "xp_readerrorlog() returned error 2, 'The system cannot find the file specified.' ({})",
            path.display()
        );
        Error::new(22004, 12, 1, text)
    };
    if number < 0 {
        return Err(missing());
    }
    let disk = &context.instance.env.disk;
    let file = disk.open(&path, disk::Access::Buffered).map_err(|_| missing())?;
    let length = disk
        .len(&path)
        .ok()
        .flatten()
        .and_then(|length| usize::try_from(length).ok())
        .ok_or_else(missing)?;
    // Its bytes, its text and its lines.
    let charge = memory::require(length.saturating_mul(3))?;
    let mut bytes = vec![0; length];
    file.read_at(0, &mut bytes).map_err(|_| missing())?;
    Ok((charge, lines_of(&String::from_utf8_lossy(&bytes), parse_time)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::errorlog::LineKind;

    /// Dates are read leniently, blanks as midnight too: so it is by its indent that a further line is known.
    #[test]
    fn what_is_written_is_read_back() {
        let line = |text: &str| ErrorLogLine {
            time: DateTimeTicks {
                days: 45_000,
                ticks: 14_400_291,
            },
            source: "spid14s".into(),
            text: text.into(),
            kind: LineKind::Plain,
        };
        let forged = line("Login succeeded for user 'sa'.").file_text();
        let texts = [
            "Starting up database 'vlf'.".to_owned(),
            "two\nlines".to_owned(),
            format!("three\n\n{forged}"),
        ];
        let file: Vec<String> = texts.iter().map(|text| line(text).file_text()).collect();
        // The file has hundredths of a second, of which a tick has three and a third.
        assert_eq!(lines_of(&file.join("\n"), parse_time), texts.map(|text| line(&text)));
    }
}
