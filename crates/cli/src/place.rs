//! The location of a sweep's results on the command line: a folder, or a bucket as `s3://BUCKET/PREFIX`.

use lab::sweep::place::{Folder, Place};
use remote::Bucket;
use std::fmt;
use std::io;
use std::path::Path;

/// Files that are read at once from a bucket: each is a journey of some milliseconds.
const BUCKET_READERS: usize = 16;

/// The place of that name.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a bucket that is none, or cannot be reached as the environment says.
pub fn of(name: &Path) -> io::Result<Box<dyn Place>> {
    match bucket_of(name) {
        Some(url) => {
            let bucket = Bucket::open(url, &|variable| std::env::var(variable).ok())?;
            Ok(Box::new(InBucket(bucket)))
        }
        None => Ok(Box::new(Folder(name.to_path_buf()))),
    }
}

/// The URL of a bucket, if this is one.
pub fn bucket_of(name: &Path) -> Option<&str> {
    name.to_str().filter(|name| remote::is_bucket(name))
}

struct InBucket(Bucket);

impl fmt::Display for InBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Place for InBucket {
    /// A bucket is made by its owner.
    fn prepare(&self) -> io::Result<()> {
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.0.names()
    }

    fn read(&self, name: &str, bytes_max: u64) -> io::Result<String> {
        self.0.read(name, bytes_max)
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        self.0.write(name, text)
    }

    fn readers(&self) -> usize {
        BUCKET_READERS
    }
}
