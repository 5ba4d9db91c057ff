//! Buckets in a build without them: none can be opened.

use std::convert::Infallible;
use std::fmt;
use std::io;

/// A prefix of a bucket, of which this build has none.
#[derive(Debug)]
pub struct Bucket(Infallible);

impl fmt::Display for Bucket {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl Bucket {
    /// Says that there are none.
    ///
    /// # Errors
    /// Always.
    pub fn open(url: &str, _environment: &dyn Fn(&str) -> Option<String>) -> io::Result<Bucket> {
        let text = format!("{url}: this build reaches no buckets; packages do, and a build with --features buckets");
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    }

    /// There is none to ask.
    ///
    /// # Errors
    /// None: it is never called.
    pub fn names(&self) -> io::Result<Vec<String>> {
        match self.0 {}
    }

    /// There is none to read from.
    ///
    /// # Errors
    /// None: it is never called.
    pub fn read(&self, _name: &str, _bytes_max: u64) -> io::Result<String> {
        match self.0 {}
    }

    /// There is none to write to.
    ///
    /// # Errors
    /// None: it is never called.
    pub fn write(&self, _name: &str, _text: &str) -> io::Result<()> {
        match self.0 {}
    }
}
