//! Where the program's memory comes from: jemalloc, told to give back at once what nobody uses.
//!
//! The instance's accountant of memory (`engine::memory`) holds queries to what `max server memory` allows. That is a promise about
//! the process only if memory that was given back leaves the process as well. The C library's allocator keeps it: each of its heaps
//! gives back only from its end, and one long-lived value there holds everything below. Under 50 statements built to break the
//! server (`tests/outer/limits.rs`, 512 MB) it stayed with up to 850 MB resident, with this one under 400.
//!
//! Invariant: the settings are read by the allocator before `main`; nothing in the program can be allocated without them.

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Pages that nobody uses go back to the operating system at once (`dirty_decay_ms`), without a stage in which it may take them but
/// still counts them as the process's (`muzzy_decay_ms`), and their addresses with them, which may be limited (`retain`). Small blocks
/// stay with the thread that freed them for a while, as everywhere. Ends with a zero byte, as the library reads it.
static SETTINGS: [u8; 47] = *b"dirty_decay_ms:0,muzzy_decay_ms:0,retain:false\0";

/// The pointer under which the library looks for its settings (`malloc_conf` in jemalloc(3), with the prefix of this build of it).
#[allow(
    unsafe_code,
    reason = "the name is how the library finds it; it is the address of a constant that ends with a zero byte"
)]
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static MALLOC_CONF: Option<&'static u8> = Some(&SETTINGS[0]);
