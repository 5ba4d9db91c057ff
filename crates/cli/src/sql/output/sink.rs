//! The destination of text: standard output, standard error or a file, in UTF-16 with `-u`.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

pub(in crate::sql) enum Sink {
    Stdout(BufWriter<io::Stdout>),
    Stderr(io::Stderr),
    File(BufWriter<File>),
    /// Little-endian, after the mark that says so; what is incomplete of a character waits for its rest.
    Utf16(BufWriter<File>, Vec<u8>),
}

impl Sink {
    pub(in crate::sql) fn stdout() -> Sink {
        Sink::Stdout(BufWriter::new(io::stdout()))
    }

    /// `stdout`, `stderr`, or a file, which is made or emptied.
    ///
    /// # Errors
    /// A sentence in sqlcmd's words.
    pub(in crate::sql) fn of_name(name: &str, is_utf16: bool) -> Result<Sink, String> {
        match name.to_ascii_lowercase().as_str() {
            "stdout" => Ok(Sink::stdout()),
            "stderr" => Ok(Sink::Stderr(io::stderr())),
            _ => Sink::file(Path::new(name), is_utf16).map_err(|error| {
                format!("Error occurred while opening or operating on file {name} (Reason: {error}).")
            }),
        }
    }

    /// A file, which is made or emptied.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(in crate::sql) fn file(path: &Path, is_utf16: bool) -> io::Result<Sink> {
        let mut file = BufWriter::new(File::create(path)?);
        if !is_utf16 {
            return Ok(Sink::File(file));
        }
        file.write_all(&[0xFF, 0xFE])?;
        Ok(Sink::Utf16(file, Vec::new()))
    }

    /// Columns of the terminal that it is; 0 where it is none.
    pub(in crate::sql) fn terminal_width(&self) -> usize {
        /// Of terminals that do not say.
        const USUAL: usize = 80;
        let is_terminal = match self {
            Sink::Stdout(_) => io::stdout().is_terminal(),
            Sink::Stderr(_) => io::stderr().is_terminal(),
            Sink::File(_) | Sink::Utf16(..) => false,
        };
        match is_terminal {
            true => terminal_size::terminal_size().map_or(USUAL, |(width, _)| usize::from(width.0).max(1)),
            false => 0,
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Stdout(sink) => sink.write(bytes),
            Sink::Stderr(sink) => sink.write(bytes),
            Sink::File(sink) => sink.write(bytes),
            Sink::Utf16(sink, pending) => {
                pending.extend_from_slice(bytes);
                let whole = match std::str::from_utf8(pending) {
                    Ok(_) => pending.len(),
                    Err(error) => error.valid_up_to(),
                };
                let rest = pending.split_off(whole);
                let text = String::from_utf8_lossy(pending).into_owned();
                *pending = rest;
                let units = text.encode_utf16().flat_map(u16::to_le_bytes);
                sink.write_all(&units.collect::<Vec<u8>>())?;
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Stdout(sink) => sink.flush(),
            Sink::Stderr(sink) => sink.flush(),
            Sink::File(sink) | Sink::Utf16(sink, _) => sink.flush(),
        }
    }
}
