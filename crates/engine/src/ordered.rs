//! Work done ahead by threads and returned in the order of its submission.
//!
//! ```text
//! submit a, b, c -> [ thread 1: a ] [ thread 2: b ] [ waiting: c ] -> next() = a, next() = b, next() = c
//! ```
//! For long transfers: reads ahead of the checks, compression on every core, writes after the copying. The caller limits the work in
//! progress by taking results before it submits more. With `Background::Inline` the caller does the work at submission.
//!
//! Invariants: results come in the order of submission; when an [`Ordered`] is dropped, none of its work is still running.

use crate::seams::Background;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

struct Queue<I, O> {
    jobs: VecDeque<(I, SyncSender<O>)>,
    closed: bool,
}

struct Shared<I, O> {
    queue: Mutex<Queue<I, O>>,
    wake: Condvar,
}

impl<I, O> Shared<I, O> {
    fn take(&self) -> Option<(I, SyncSender<O>)> {
        let mut queue = self.queue.lock();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            self.wake.wait(&mut queue);
        }
    }
}

enum Pending<O> {
    Done(O),
    UnderWay(Receiver<O>),
}

/// Jobs of one sort, done by threads, with results in order. See the module.
pub struct Ordered<I, O> {
    shared: Arc<Shared<I, O>>,
    threads: Vec<JoinHandle<()>>,
    /// Does the work when there are no threads.
    own: Box<dyn FnMut(I) -> O + Send>,
    pending: VecDeque<Pending<O>>,
}

impl<I: Send + 'static, O: Send + 'static> Ordered<I, O> {
    /// Up to `threads` threads; `worker` makes what each of them works with. Where no thread can be had, the caller works.
    pub fn new<W>(background: Background, name: &str, threads: usize, worker: impl Fn() -> W) -> Ordered<I, O>
    where
        W: FnMut(I) -> O + Send + 'static,
    {
        let queue = Queue {
            jobs: VecDeque::new(),
            closed: false,
        };
        let shared = Arc::new(Shared {
            queue: Mutex::new(queue),
            wake: Condvar::new(),
        });
        let spawn = |_| {
            let (shared, mut work) = (shared.clone(), worker());
            let body = move || {
                while let Some((job, answer)) = shared.take() {
                    // While the whole is being dropped, no result is needed.
                    let _ = answer.send(work(job));
                }
            };
            std::thread::Builder::new().name(name.to_string()).spawn(body).ok()
        };
        let threads = match background {
            Background::Threads => (0..threads).filter_map(spawn).collect(),
            Background::Inline => Vec::new(),
        };
        Ordered {
            shared,
            threads,
            own: Box::new(worker()),
            pending: VecDeque::new(),
        }
    }

    /// Asks for one more result.
    pub fn submit(&mut self, job: I) {
        if self.threads.is_empty() {
            let done = (self.own)(job);
            self.pending.push_back(Pending::Done(done));
            return;
        }
        let (answer, result) = sync_channel(1);
        self.shared.queue.lock().jobs.push_back((job, answer));
        self.shared.wake.notify_one();
        self.pending.push_back(Pending::UnderWay(result));
    }

    /// Results submitted and not handed out yet.
    pub fn under_way(&self) -> usize {
        self.pending.len()
    }
}

/// The oldest result not handed out yet, waiting for it; `None` when nothing is under way.
impl<I, O> Iterator for Ordered<I, O> {
    type Item = O;

    fn next(&mut self) -> Option<O> {
        match self.pending.pop_front()? {
            Pending::Done(result) => Some(result),
            Pending::UnderWay(result) => Some(result.recv().expect("a worker answers every job it takes")),
        }
    }
}

impl<I, O> Drop for Ordered<I, O> {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        queue.closed = true;
        queue.jobs.clear();
        drop(queue);
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so; there is nothing left of it to wait for.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        for background in [Background::Threads, Background::Inline] {
            let mut work = Ordered::new(background, "square", 3, || {
                |number: u64| {
                    // The earlier a job, the longer it takes.
                    let spin = (0..(200 - number) * 500).fold(number, |sum, turn| sum ^ turn);
                    (number, spin, number * number)
                }
            });
            let mut results = Vec::new();
            for number in 0..200 {
                if work.under_way() == 5 {
                    results.push(work.next().unwrap());
                }
                work.submit(number);
            }
            results.extend(work);
            let expected = (0..200u64).map(|number| number * number);
            assert!(results.iter().map(|result| result.2).eq(expected));
        }
    }

    #[test]
    fn nothing_runs_once_it_is_dropped() {
        let done = Arc::new(AtomicUsize::new(0));
        let counted = done.clone();
        let mut work = Ordered::new(Background::Threads, "count", 2, move || {
            let counted = counted.clone();
            move |_: u32| counted.fetch_add(1, Ordering::SeqCst)
        });
        (0..1_000).for_each(|number| work.submit(number));
        work.next();
        drop(work);
        assert_eq!(Arc::strong_count(&done), 1, "the workers are gone");
        assert!(done.load(Ordering::SeqCst) >= 1);
    }
}
