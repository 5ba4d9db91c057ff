//! The exchange between the threads of a parallel plan: several producers, one consumer, a few packets in between.
//!
//! ```text
//! producer --\
//! producer ---> [ packet | packet | .. ] --> consumer (the session's own thread)
//! ```
//! A producer waits while the exchange is full, the consumer while it is empty. Both are CXPACKET waits, timed only while a thread really
//! waits. The consumer may close the exchange early; producers then stop at their next packet.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use engine::error::Result;
use engine::seams::Environment;
use engine::waits::WaitType;

/// Packets that may lie in the exchange for each producer.
const PACKETS_PER_PRODUCER: usize = 8;

struct State<T> {
    packets: VecDeque<Result<T>>,
    producers: usize,
    is_closed: bool,
}

/// Packets on their way from producers to the consumer.
pub(super) struct Exchange<'e, T> {
    state: Mutex<State<T>>,
    packets_max: usize,
    has_packet: Condvar,
    has_room: Condvar,
    env: &'e Environment,
}

impl<'e, T> Exchange<'e, T> {
    /// An empty exchange that so many producers will use.
    pub(super) fn new(producers: usize, env: &'e Environment) -> Exchange<'e, T> {
        Exchange {
            state: Mutex::new(State {
                packets: VecDeque::new(),
                producers,
                is_closed: false,
            }),
            packets_max: producers * PACKETS_PER_PRODUCER,
            has_packet: Condvar::new(),
            has_room: Condvar::new(),
            env,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // A thread that panicked ends the statement anyhow; its packets are whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(
        &self,
        condition: &Condvar,
        state: MutexGuard<'g, State<T>>,
        must_wait: impl Fn(&State<T>) -> bool,
    ) -> MutexGuard<'g, State<T>> {
        if !must_wait(&state) {
            return state;
        }
        self.env.waits.time(&*self.env.clock, WaitType::CxPacket, || {
            condition
                .wait_while(state, |state| must_wait(state))
                .unwrap_or_else(PoisonError::into_inner)
        })
    }

    /// Passes a packet on; false if the consumer needs no more.
    pub(super) fn send(&self, packet: Result<T>) -> bool {
        let is_full = |state: &State<T>| state.packets.len() >= self.packets_max && !state.is_closed;
        let mut state = self.wait(&self.has_room, self.lock(), is_full);
        if state.is_closed {
            return false;
        }
        state.packets.push_back(packet);
        drop(state);
        self.has_packet.notify_one();
        true
    }

    /// The next packet; `None` when all producers are done.
    pub(super) fn receive(&self) -> Option<Result<T>> {
        let is_idle = |state: &State<T>| state.packets.is_empty() && state.producers > 0;
        let mut state = self.wait(&self.has_packet, self.lock(), is_idle);
        let packet = state.packets.pop_front();
        drop(state);
        self.has_room.notify_one();
        packet
    }

    /// This many producers could not be started, and must not be waited for.
    pub(super) fn absent(&self, producers: usize) {
        self.lock().producers -= producers;
        self.has_packet.notify_one();
    }

    /// Wants no more packets from when this is dropped.
    pub(super) fn closing(&self) -> Closing<'_, 'e, T> {
        Closing(self)
    }

    /// Runs a producer's work to its end, be it a panic; its error goes to the consumer.
    pub(super) fn produce(&self, work: impl FnOnce() -> Result<()>) {
        let _done = Done(self);
        if let Err(error) = work() {
            self.send(Err(error));
        }
    }
}

pub(super) struct Closing<'x, 'e, T>(&'x Exchange<'e, T>);

impl<T> Drop for Closing<'_, '_, T> {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.has_room.notify_all();
    }
}

/// Signs a producer off.
struct Done<'x, 'e, T>(&'x Exchange<'e, T>);

impl<T> Drop for Done<'_, '_, T> {
    fn drop(&mut self) {
        self.0.lock().producers -= 1;
        self.0.has_packet.notify_one();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use engine::error::Error;
    use engine::errorlog::ErrorLog;
    use engine::seams::{Background, SystemClock};
    use engine::waits::WaitStatistics;
    use std::sync::Arc;

    fn environment() -> Environment {
        let clock = Arc::new(SystemClock::new());
        Environment {
            disk: Arc::new(disk::OsDisk),
            clock: clock.clone(),
            background: Background::Threads,
            waits: Arc::new(WaitStatistics::new()),
            errorlog: Arc::new(ErrorLog::new(clock)),
            activity: Arc::default(),
        }
    }

    fn waits(env: &Environment) -> u64 {
        let rows = env.waits.rows();
        let row = rows.iter().find(|row| row.wait_type == WaitType::CxPacket);
        row.unwrap().waiting_tasks
    }

    #[test]
    fn everything_sent_arrives_and_every_side_ends() {
        let env = environment();
        let exchange = Exchange::new(3, &env);
        let mut sum = 0u64;
        std::thread::scope(|threads| {
            for producer in 0..3u64 {
                let exchange = &exchange;
                threads.spawn(move || {
                    exchange.produce(|| {
                        (0..1000).for_each(|number| assert!(exchange.send(Ok(producer * 1000 + number))));
                        Ok(())
                    });
                });
            }
            while let Some(packet) = exchange.receive() {
                sum += packet.unwrap();
            }
        });
        assert_eq!(sum, (0..3000).sum::<u64>());
    }

    #[test]
    fn a_full_exchange_makes_its_producer_wait_until_it_is_closed() {
        let env = environment();
        let exchange = Exchange::new(1, &env);
        std::thread::scope(|threads| {
            let producer = threads.spawn(|| {
                let mut sent = 0;
                exchange.produce(|| {
                    while exchange.send(Ok(())) {
                        sent += 1;
                    }
                    Ok(())
                });
                sent
            });
            exchange.receive().unwrap().unwrap();
            while exchange.lock().packets.len() < PACKETS_PER_PRODUCER {
                std::thread::yield_now();
            }
            drop(exchange.closing());
            assert_eq!(producer.join().unwrap(), PACKETS_PER_PRODUCER + 1);
        });
    }

    /// The consumer's panic left the exchange open: the scope then waited for a producer that waited for room.
    #[test]
    fn a_consumer_that_panics_leaves_no_producer_waiting() {
        let env = environment();
        let exchange = Exchange::new(1, &env);
        let consuming = || {
            std::thread::scope(|threads| {
                let _closing = exchange.closing();
                threads.spawn(|| {
                    exchange.produce(|| {
                        while exchange.send(Ok(())) {}
                        Ok(())
                    });
                });
                while exchange.lock().packets.len() < PACKETS_PER_PRODUCER {
                    std::thread::yield_now();
                }
                panic!("of the consumer")
            })
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(consuming)).is_err());
    }

    #[test]
    fn an_error_arrives_and_a_wait_is_counted_only_where_there_was_one() {
        let env = environment();
        let exchange: Exchange<'_, ()> = Exchange::new(1, &env);
        exchange.produce(|| Err(Error::assertion("of a producer")));
        assert!(exchange.receive().unwrap().is_err());
        assert!(exchange.receive().is_none());
        assert_eq!(waits(&env), 0);
        let exchange: Exchange<'_, ()> = Exchange::new(1, &env);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                exchange.produce(|| {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    Ok(())
                });
            });
            assert!(exchange.receive().is_none());
        });
        assert_eq!(waits(&env), 1);
    }
}
