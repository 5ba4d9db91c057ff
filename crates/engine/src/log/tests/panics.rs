//! A thread that panics in the middle of a change of the log closes it, like a failed write. The mutex is not poisoned by a panic, so
//! without this other threads would continue with the half-changed state, and threads waiting for its write would never wake up.

use super::*;
use crate::log::hold::Held;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;

fn append(log: &LogManager, payload: &[u8]) -> Result<Lsn> {
    let mut chain = TransactionChain::new(TransactionId(1));
    let lsn = log.append(&mut chain, RecordKind::Change, &[payload], 0);
    log.forget(&mut chain);
    lsn
}

fn closed<T>() -> Result<T> {
    Err(Error::log_not_available("test"))
}

/// A log with a durable record and one that is not, and how often its failure was reported.
fn started() -> (Bench, Arc<LogManager>, Lsn, Lsn, Arc<AtomicUsize>) {
    let bench = Bench::new(file(2 * MB, 0, 2 * MB), LogPolicy::native());
    let log = bench.create();
    let told = Arc::new(AtomicUsize::new(0));
    let counted = told.clone();
    log.on_failure(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let durable = append(&log, b"durable").unwrap();
    log.flush_to(durable).unwrap();
    let lost = append(&log, b"lost").unwrap();
    (bench, log, durable, lost, told)
}

fn is_given_up(log: &LogManager, durable: Lsn, lost: Lsn, told: &AtomicUsize) {
    assert_eq!(told.load(Ordering::SeqCst), 1, "the database learns it, once");
    assert_eq!(log.check_intact(), closed());
    assert_eq!(append(log, b"behind"), closed());
    assert_eq!(log.flush_to(durable), Ok(()), "what was durable is");
    assert_eq!(log.flush_to(lost), closed());
}

#[test]
fn a_panic_under_the_mutex_closes_the_log() {
    let (bench, log, durable, lost, told) = started();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut state = log.hold();
        state.seal_open();
        panic!("in the middle of a change");
    }));
    assert!(panicked.is_err());
    is_given_up(&log, durable, lost, &told);
    log.close();
    unlock_files(&log);
    let (_, records) = bench.recover().unwrap();
    assert!(!records.is_empty(), "recovery has what was durable");
}

#[test]
fn who_waits_for_the_write_of_a_thread_that_panics_learns_it() {
    let (_bench, log, durable, lost, told) = started();
    let (begun, waits) = (std::sync::Barrier::new(2), &log);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            begun.wait();
            waits.flush_to(lost)
        });
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut state = log.hold();
            state.seal_open();
            let _led = log.begin_write(&mut state).expect("something is queued");
            let number = state.flight.next() - 1;
            Held::unlocked(&mut state, || {
                begun.wait();
                while log.hold().flight.waiting_for(number) == 0 {
                    std::thread::yield_now();
                }
                panic!("in the middle of a write");
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(waiter.join().unwrap(), closed());
    });
    is_given_up(&log, durable, lost, &told);
    // The write never ends, and closing the log does not wait for it.
    log.close();
}

/// Work that begins while a thread unwinds for another reason is as good as any other.
#[test]
fn a_log_that_is_used_while_a_thread_unwinds_stays_open() {
    struct AtEnd<'l>(&'l LogManager);
    impl Drop for AtEnd<'_> {
        fn drop(&mut self) {
            drop(self.0.hold());
        }
    }
    let (_bench, log, durable, _, told) = started();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _at_end = AtEnd(&log);
        panic!("of something else");
    }));
    assert!(panicked.is_err());
    assert_eq!((told.load(Ordering::SeqCst), log.check_intact()), (0, Ok(())));
    assert_eq!(log.flush_to(durable), Ok(()));
}
