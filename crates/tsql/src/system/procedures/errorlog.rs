//! `sp_readerrorlog` and `xp_readerrorlog`: the error log of this run or of a former one.

use engine::error::{Error, Result};
use engine::errorlog::ErrorLogLine;
use engine::seams::DateTimeTicks;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::{INT, SystemProcedure, TEXT, integer, text};
use crate::views::parse_time;

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
        run: |_, _, _| Ok(0),
    },
];

/// Log number (0 = this run), kind (1 = the server's), two texts that a line must contain, first and last time, order.
fn read(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
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
    let lines = if number == 0 {
        context.instance.env.errorlog.lines()
    } else {
        former(context, number)?
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

/// The lines of a former run's file; a line without a time of its own belongs to the one before it.
fn former(context: &SystemContext<'_>, number: i64) -> Result<Vec<ErrorLogLine>> {
    let path = context.instance.folder().join("log").join(format!("ERRORLOG.{number}"));
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
    let mut bytes = vec![0; length];
    file.read_at(0, &mut bytes).map_err(|_| missing())?;
    Ok(lines_of(&String::from_utf8_lossy(&bytes)))
}

/// `2008-05-16 13:22:47.97 spid51      text`, as [`ErrorLogLine::file_text`] writes it.
fn lines_of(text: &str) -> Vec<ErrorLogLine> {
    let mut lines: Vec<ErrorLogLine> = Vec::new();
    for line in text.lines() {
        let time = line.get(..22).and_then(parse_time);
        match (time, line.get(23..)) {
            (Some(time), Some(rest)) => {
                let (source, text) = rest.split_once(' ').unwrap_or((rest, ""));
                lines.push(ErrorLogLine {
                    time,
                    source: source.to_owned(),
                    text: text.trim_start().to_owned(),
                });
            }
            _ => {
                if let Some(last) = lines.last_mut() {
                    last.text.push('\n');
                    last.text.push_str(line);
                }
            }
        }
    }
    lines
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let line = |text: &str| ErrorLogLine {
            time: DateTimeTicks {
                days: 45_000,
                ticks: 14_400_291,
            },
            source: "spid14s".into(),
            text: text.into(),
        };
        let lines = [line("Starting up database 'vlf'."), line("two\nlines")];
        let text: Vec<String> = lines.iter().map(|line| line.file_text()).collect();
        let read = lines_of(&text.join("\n"));
        assert_eq!(read.len(), 2);
        assert_eq!(read[1].text, "two\nlines");
        assert_eq!(read[0].source, "spid14s");
        // The file has hundredths of a second, of which a tick has three and a third.
        assert_eq!(
            read[0].time,
            DateTimeTicks {
                days: 45_000,
                ticks: 14_400_291
            }
        );
    }
}
