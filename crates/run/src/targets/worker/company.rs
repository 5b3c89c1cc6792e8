//! The processes of a worker and their calls. One thread handles each process, and returns to every call its own answer.
//! A process gets one call after the other, or several calls at once: each as its own message, or as a list in one
//! message.
//!
//! If a process with several calls is lost, or an answer does not come in time, it is not known which of its calls is
//! the cause. So each of them is repeated alone, and only that result counts.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde_json::value::RawValue;

use super::exchange::{LOOK_EVERY, RunningWorker, WorkerLoss};
use super::rpc::{self, WorkerMessage};
use super::source::{WorkerSource, printed};
use super::{InCompany, refused};
use crate::targets::command::Tail;
use crate::targets::handed::{self, HandedInput, HandedTurn};
use crate::targets::{Ended, Invocation, Reply};
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_system::signal::timespec;

/// How long a call waits for other calls that could be sent in the same message.
const LINGER: Duration = Duration::from_millis(20);

/// The end of a call that was made together with others.
pub(super) enum SharedEnd {
    /// An answer, and the other results of the call.
    Answered(Vec<u8>, Box<Reply>),
    /// The call ended in another way, which certainly belongs to this call.
    Ended(Box<Ended>),
    /// The result is unknown; the call has to be repeated alone.
    Unknown,
}

/// A call that waits for its process or its answer.
struct SharedCall {
    /// The message that is sent now.
    message: SharedMessage,
    /// The messages that are sent after the answer: the other turns of a conversation.
    later: VecDeque<SharedMessage>,
    /// The answers to earlier turns.
    earlier: Vec<Vec<u8>>,
    since: Instant,
    to: Sender<SharedEnd>,
}

/// A message of a call.
struct SharedMessage {
    id: String,
    /// The parameters of the message.
    asked: Box<RawValue>,
    /// The turn of a conversation in this message.
    turn: Option<HandedTurn>,
}

impl SharedMessage {
    fn new(input: &HandedInput<'_>) -> Self {
        let id = rpc::token();
        Self {
            asked: rpc::asked(&id, input),
            id,
            turn: input.turn.clone(),
        }
    }
}

impl SharedCall {
    /// Continues with the next turn, if there is one, and stores the answer to the present one.
    fn goes_on(&mut self, answer: &[u8]) -> bool {
        let Some(next) = self.later.pop_front() else {
            return false;
        };
        self.earlier.push(answer.to_vec());
        self.message = next;
        true
    }

    /// Ends the call; a failure in a conversation says in which turn.
    fn end(self, mut end: SharedEnd) {
        match &mut end {
            SharedEnd::Answered(_, reply) => reply.earlier = self.earlier,
            SharedEnd::Ended(ended) => {
                if let Ended::Failed { failure, reply } = &mut **ended {
                    reply.earlier = self.earlier;
                    if let Some(turn) = &self.message.turn {
                        failure.message = turn.said(&failure.message);
                    }
                }
            }
            SharedEnd::Unknown => {}
        }
        // The caller waits for this result.
        let _ = self.to.send(end);
    }

    fn interrupted(self) {
        self.end(SharedEnd::Ended(Box::new(Ended::Interrupted)));
    }
}

/// The processes, which start when there are calls for them.
pub(super) struct Company {
    hall: Arc<Hall>,
}

/// The state that the threads share.
struct Hall {
    source: Arc<WorkerSource>,
    way: InCompany,
    /// The maximum number of processes.
    processes: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// The calls that no process has received yet.
    calls: VecDeque<SharedCall>,
    hosts: Vec<HostState>,
    threads: Vec<JoinHandle<()>>,
    /// Whether no more calls will come.
    closing: bool,
    /// Whether the run was stopped.
    stopped: bool,
}

/// The state of a process's thread that other threads can see.
struct HostState {
    /// Wakes the thread.
    wake: PipeWriter,
    /// How many calls its process has.
    busy: usize,
    /// How many more calls its process could get.
    room: usize,
}

impl Hall {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn wake_all(&mut self) {
        self.hosts.iter_mut().for_each(HostState::wake);
    }

    /// Wakes the process that could get the most calls, if there is one.
    fn wake_one(&mut self) {
        let hosts = self.hosts.iter_mut().filter(|host| host.room > 0);
        if let Some(host) = hosts.max_by_key(|host| host.room) {
            host.wake();
        }
    }
}

impl HostState {
    fn wake(&mut self) {
        // If the pipe is full, the thread wakes up anyway.
        let _ = self.wake.write(b"x");
    }
}

impl Company {
    pub(super) fn new(source: Arc<WorkerSource>, way: InCompany, processes: usize) -> Self {
        let hall = Hall {
            source,
            way,
            processes,
            waiting: Mutex::default(),
        };
        Self {
            hall: Arc::new(hall),
        }
    }

    /// Makes calls, and waits for the end of all of them. Several calls start together, in this order, in one message
    /// or in messages without a wait between them.
    pub(super) fn ask(&self, calls: &[Invocation<'_>]) -> Vec<SharedEnd> {
        let is_row = calls.len() > 1;
        let now = Instant::now();
        // A sequence of calls does not wait for more calls.
        let since = now.checked_sub(LINGER).filter(|_| is_row).unwrap_or(now);
        let (calls, ends): (Vec<Option<SharedCall>>, Vec<Receiver<SharedEnd>>) = calls
            .iter()
            .map(|call| {
                let (to, end) = channel();
                let inputs = match handed::inputs(call, self.hall.source.site.turns.as_ref()) {
                    Ok(inputs) => inputs,
                    Err(failure) => {
                        let ended = Box::new(Ended::failed(failure, None));
                        let _ = to.send(SharedEnd::Ended(ended));
                        return (None, end);
                    }
                };
                let mut messages: VecDeque<SharedMessage> =
                    inputs.iter().map(SharedMessage::new).collect();
                let call = messages.pop_front().map(|message| SharedCall {
                    message,
                    later: messages,
                    earlier: Vec::new(),
                    since,
                    to,
                });
                (call, end)
            })
            .unzip();
        self.put(calls.into_iter().flatten().collect());
        let lost = || {
            let message = "the thread of the worker has ended";
            let failure = Failure::new(FailureKind::WorkerLost, message);
            SharedEnd::Ended(Box::new(Ended::failed(failure, None)))
        };
        ends.into_iter()
            .map(|end| end.recv().unwrap_or_else(|_| lost()))
            .collect()
    }

    /// Queues calls for the processes, and starts a thread for another process if needed.
    fn put(&self, calls: Vec<SharedCall>) {
        let mut waiting = self.hall.waiting();
        if waiting.stopped {
            return calls.into_iter().for_each(SharedCall::interrupted);
        }
        waiting.calls.extend(calls);
        let idle = waiting.hosts.iter().filter(|host| host.busy == 0).count();
        let fits = match self.hall.way {
            // The work is divided among as many processes as allowed.
            InCompany::Concurrent(_) => idle,
            InCompany::Batch(most) => idle * most,
        };
        if waiting.calls.len() > fits && waiting.hosts.len() < self.hall.processes {
            if let Err(error) = self.open_host(&mut waiting)
                && waiting.hosts.is_empty()
            {
                let message = format!("a thread for the worker cannot be started: {error}");
                for call in waiting.calls.drain(..) {
                    let failure = Failure::new(FailureKind::NotStarted, message.clone());
                    call.end(SharedEnd::Ended(Box::new(Ended::failed(failure, None))));
                }
            }
            return;
        }
        // A process that is busy takes the call as soon as one of its own calls has ended.
        waiting.wake_one();
    }

    fn open_host(&self, waiting: &mut Waiting) -> io::Result<()> {
        let (woken, wake) = io::pipe()?;
        for end in [woken.as_fd(), wake.as_fd()] {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        let host = Host {
            hall: Arc::clone(&self.hall),
            at: waiting.hosts.len(),
            woken,
            serving: None,
            flying: Vec::new(),
        };
        let thread = thread::Builder::new().spawn(|| host.run())?;
        waiting.threads.push(thread);
        waiting.hosts.push(HostState {
            wake,
            busy: 0,
            room: self.hall.way.most(),
        });
        Ok(())
    }
}

impl Drop for Company {
    fn drop(&mut self) {
        let mut waiting = self.hall.waiting();
        waiting.closing = true;
        waiting.wake_all();
        let threads = std::mem::take(&mut waiting.threads);
        drop(waiting);
        for thread in threads {
            // If the thread has panicked, it has reported the panic itself, and its worker ends together with it.
            let _ = thread.join();
        }
    }
}

/// The thread of a process, with the calls that the process has.
struct Host {
    hall: Arc<Hall>,
    at: usize,
    woken: PipeReader,
    serving: Option<Serving>,
    flying: Vec<Flying>,
}

/// A running process.
struct Serving {
    worker: RunningWorker,
    way: InCompany,
    /// How many calls the process has received.
    given: u64,
    /// Whether the process has answered a call.
    has_answered: bool,
    /// Whether the process has not received anything of its present calls.
    is_unheard: bool,
    /// Why the process gets no more calls.
    retired: Option<Retired>,
    unsent: Vec<u8>,
    /// The message that contains all calls of the process.
    batch: Option<String>,
    /// Calls for whose answers nobody waits any more.
    given_up: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Retired {
    /// The process has reached its maximum number of calls.
    Recycled,
    /// One of its calls got no answer in time, and may still be running in the process.
    Hung,
}

/// A call that a process is handling.
struct Flying {
    call: SharedCall,
    deadline: Instant,
    log: Tail,
    /// Whether the process had other calls at the same time.
    had_company: bool,
    /// Whether this is the first call that the process can answer.
    is_first: bool,
}

/// Why a thread stopped waiting.
enum Woken {
    /// The loop should check its state again.
    Up,
    /// The process has ended.
    WorkerEnded,
    /// The run is stopped.
    Stopped,
}

impl Host {
    fn run(mut self) {
        while let Some((calls, pause)) = self.take() {
            if !self.give(calls) {
                continue;
            }
            match self.wait(pause) {
                Ok(Woken::Stopped) => return self.stop(),
                Ok(Woken::Up) => {
                    self.hear();
                }
                // The messages that the process sent before its end count.
                Ok(Woken::WorkerEnded) => {
                    if self.hear() {
                        self.lose(&WorkerLoss::Ended);
                    }
                }
                Err(error) => self.lose(&WorkerLoss::Unreachable(error)),
            }
            self.look_at_the_clock();
            self.look_at_the_memory();
        }
        let Some(mut serving) = self.serving.take() else {
            return;
        };
        if self.hall.source.site.interrupt.tripped() {
            return drop(serving.worker.kill());
        }
        serving.worker.dismiss();
        serving.worker.leave(Instant::now());
    }

    /// The calls that the process gets now, and how long it can wait for more; none if the thread has to end.
    fn take(&mut self) -> Option<(Vec<SharedCall>, Option<Duration>)> {
        self.retire();
        let mut waiting = self.hall.waiting();
        let mut room = self.room();
        let mut pause = None;
        if let (InCompany::Batch(most), Some(oldest)) = (self.way(), waiting.calls.front())
            && room > 0
            && waiting.calls.len() < most
        {
            let left = LINGER.saturating_sub(oldest.since.elapsed());
            if !left.is_zero() {
                room = 0;
                pause = Some(left);
            }
        }
        let count = room.min(waiting.calls.len());
        let taken: Vec<SharedCall> = waiting.calls.drain(..count).collect();
        let busy = self.flying.len() + taken.len();
        let room = match self.way() {
            InCompany::Batch(_) if busy > 0 => 0,
            _ => self.room().saturating_sub(taken.len()),
        };
        if let Some(host) = waiting.hosts.get_mut(self.at) {
            (host.busy, host.room) = (busy, room);
        }
        if !waiting.calls.is_empty() && !taken.is_empty() {
            // This process was perhaps woken for all of them.
            waiting.wake_one();
        }
        let is_over = waiting.closing && busy == 0 && waiting.calls.is_empty();
        (!is_over).then_some((taken, pause))
    }

    fn way(&self) -> InCompany {
        self.serving
            .as_ref()
            .map_or(self.hall.way, |serving| serving.way)
    }

    /// How many calls the process can get now.
    fn room(&self) -> usize {
        let way = self.way();
        let room = match way {
            InCompany::Batch(_) if !self.flying.is_empty() => 0,
            way => way.most().saturating_sub(self.flying.len()),
        };
        let given = self.serving.as_ref().map_or(0, |serving| serving.given);
        let most = self.hall.source.bounds.recycle_after;
        let left = most.map_or(u64::MAX, |most| most.saturating_sub(given));
        match self.serving.as_ref().and_then(|serving| serving.retired) {
            Some(_) => 0,
            None => room.min(usize::try_from(left).unwrap_or(usize::MAX)),
        }
    }

    /// Ends a process that gets no more calls, as soon as all its calls have ended.
    fn retire(&mut self) {
        if !self.flying.is_empty() {
            return;
        }
        let Some(mut serving) = self.serving.take_if(|serving| serving.retired.is_some()) else {
            return;
        };
        match serving.retired {
            Some(Retired::Recycled) => {
                serving.worker.dismiss();
                serving.worker.leave(Instant::now());
            }
            _ => drop(serving.worker.kill()),
        }
    }

    /// Gives calls to the process, which is started if necessary. Returns false if that failed.
    fn give(&mut self, mut calls: Vec<SharedCall>) -> bool {
        if calls.is_empty() {
            return true;
        }
        let source = Arc::clone(&self.hall.source);
        if self.serving.is_none() {
            match source.start() {
                Ok((worker, way)) => {
                    self.serving = Some(Serving {
                        worker,
                        way: way.unwrap_or(self.hall.way).at_most(self.hall.way.most()),
                        given: 0,
                        has_answered: false,
                        is_unheard: false,
                        retired: None,
                        unsent: Vec::new(),
                        batch: None,
                        given_up: Vec::new(),
                    });
                }
                Err(ended) => {
                    if !calls.is_empty() {
                        calls.remove(0).end(SharedEnd::Ended(ended));
                    }
                    self.put_back(calls);
                    return false;
                }
            }
            let room = self.room();
            if calls.len() > room {
                self.put_back(calls.split_off(room));
            }
        }
        let Some(serving) = &mut self.serving else {
            return false;
        };
        serving.given += calls.len() as u64;
        let most = source.bounds.recycle_after;
        if most.is_some_and(|most| serving.given >= most) {
            serving.retired = Some(Retired::Recycled);
        }
        if self.flying.is_empty() {
            serving.worker.forget_log();
            serving.is_unheard = true;
        }
        match (serving.way, &calls[..]) {
            // A single call is sent as a plain message.
            (InCompany::Batch(_), [_, _, ..]) => {
                let id = rpc::token();
                let asked = calls.iter().map(|call| &*call.message.asked).collect();
                serving.unsent.extend(rpc::assess_batch(&id, asked));
                serving.batch = Some(id);
            }
            _ => {
                let messages = calls
                    .iter()
                    .map(|call| rpc::assess(&call.message.id, &call.message.asked));
                serving.unsent.extend(messages.flatten());
            }
        }
        let deadline = Instant::now() + source.site.timeout;
        let is_company = self.flying.len() + calls.len() > 1;
        let is_first = !serving.has_answered;
        self.flying.extend(calls.into_iter().map(|call| Flying {
            call,
            deadline,
            log: Tail::default(),
            had_company: false,
            is_first,
        }));
        if is_company {
            self.flying
                .iter_mut()
                .for_each(|flying| flying.had_company = true);
        }
        true
    }

    /// Puts calls back to the front of the queue.
    fn put_back(&self, calls: Vec<SharedCall>) {
        let mut waiting = self.hall.waiting();
        calls
            .into_iter()
            .rev()
            .for_each(|call| waiting.calls.push_front(call));
        waiting.wake_all();
    }

    /// Sends the waiting messages, and waits for the next event.
    fn wait(&mut self, pause: Option<Duration>) -> io::Result<Woken> {
        let stop = &self.hall.source.site.interrupt;
        let mut most = pause;
        if let Some(next) = self.flying.iter().map(|flying| flying.deadline).min() {
            let left = next.saturating_duration_since(Instant::now());
            most = Some(most.map_or(left, |most| most.min(left)));
            if self.hall.source.max_memory().is_some() {
                most = most.map(|most| most.min(LOOK_EVERY));
            }
        }
        let mut fds = vec![
            PollFd::from_borrowed_fd(stop.fd(), PollFlags::IN),
            PollFd::new(&self.woken, PollFlags::IN),
        ];
        if let Some(serving) = &mut self.serving {
            serving.send()?;
            fds.extend(serving.worker.fds(!serving.unsent.is_empty())?);
        }
        let most = most.map(timespec);
        match poll(&mut fds, most.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [is_stopped, is_woken, has_ended] =
            [0, 1, 2].map(|at| fds.get(at).is_some_and(|fd| !fd.revents().is_empty()));
        drop(fds);
        if is_woken {
            let _ = (&self.woken).read(&mut [0; 64]);
        }
        Ok(match () {
            () if is_stopped => Woken::Stopped,
            () if has_ended => Woken::WorkerEnded,
            () => Woken::Up,
        })
    }

    /// Reads the messages of the process, and ends the answered calls. Returns false if reading them shows that the
    /// process is lost.
    fn hear(&mut self) -> bool {
        let Some(serving) = &mut self.serving else {
            return false;
        };
        let source = Arc::clone(&self.hall.source);
        let most = source
            .longest_message()
            .saturating_mul(match serving.batch {
                Some(_) => self.flying.len().max(1),
                None => 1,
            });
        let mut lines = Vec::new();
        let (_, is_too_long) = serving.worker.lines(most, |line| {
            lines.push(line.to_vec());
            None::<()>
        });
        // Text that belongs to an answer was printed before it.
        let flying = &mut self.flying;
        serving.worker.read_log(&mut |bytes| {
            flying.iter_mut().for_each(|flying| flying.log.push(bytes));
        });
        for line in lines {
            if let Err(loss) = self.hear_line(&line) {
                self.lose(&loss);
                return false;
            }
        }
        if is_too_long {
            self.lose(&WorkerLoss::TooLong);
        }
        !is_too_long
    }

    fn hear_line(&mut self, line: &[u8]) -> Result<(), WorkerLoss> {
        let (id, end) = match rpc::message(line) {
            WorkerMessage::Stray => {
                self.hall.source.note_stray();
                return Ok(());
            }
            WorkerMessage::Notification => return Ok(()),
            WorkerMessage::Wrong(what) => return Err(WorkerLoss::OutOfProtocol(what)),
            WorkerMessage::Answer(id, end) => (id, end),
        };
        let Some(serving) = &mut self.serving else {
            return Ok(());
        };
        if serving.batch.is_some() && id.as_deref() == serving.batch.as_deref() {
            serving.batch = None;
            let ends = match end {
                Ok(list) => rpc::batch(&list).map_err(WorkerLoss::WrongList)?,
                Err((code, message)) => {
                    let why = format!("it answered a list with an error, {code}: {message}");
                    self.unknown(|_| true, &why);
                    return Ok(());
                }
            };
            let is_whole = ends.len() == self.flying.len()
                && self
                    .flying
                    .iter()
                    .all(|flying| ends.contains_key(&flying.call.message.id));
            if !is_whole {
                return Err(WorkerLoss::WrongList(format!(
                    "answered a list of {} calls with one of {} that are not the same ones",
                    self.flying.len(),
                    ends.len()
                )));
            }
            for (id, end) in ends {
                self.land(&id, end)?;
            }
            return Ok(());
        }
        match id {
            Some(id) => self.land(&id, end),
            None => Err(WorkerLoss::OutOfProtocol(rpc::OTHER_CALL)),
        }
    }

    /// Ends a call with its result.
    fn land(&mut self, id: &str, end: rpc::RpcEnd) -> Result<(), WorkerLoss> {
        let at = self
            .flying
            .iter()
            .position(|flying| flying.call.message.id == id);
        let Some(at) = at else {
            let given_up = self.serving.as_mut().map(|serving| &mut serving.given_up);
            if let Some(given_up) = given_up
                && let Some(late) = given_up.iter().position(|other| other == id)
            {
                given_up.swap_remove(late);
                return Ok(());
            }
            return Err(WorkerLoss::OutOfProtocol(rpc::OTHER_CALL));
        };
        let end = match end {
            Ok(result) => Ok(rpc::output(&result).ok_or(WorkerLoss::OutOfProtocol(rpc::NO_TEXT))?),
            Err(error) => Err(error),
        };
        // The turns of a conversation must all go to the same process.
        if let (Ok(answer), Some(serving)) = (&end, &mut self.serving)
            && self.flying[at].call.goes_on(answer)
        {
            let flying = &mut self.flying[at];
            flying.deadline = Instant::now() + self.hall.source.site.timeout;
            let message = rpc::assess(&flying.call.message.id, &flying.call.message.asked);
            serving.unsent.extend(message);
            serving.has_answered = true;
            return Ok(());
        }
        let Flying {
            call,
            log,
            is_first,
            ..
        } = self.flying.swap_remove(at);
        if let Some(serving) = &mut self.serving {
            serving.has_answered = true;
        }
        let streams = printed(&log);
        call.end(match end {
            Ok(output) => {
                let reply = Reply {
                    streams,
                    is_first,
                    ..Reply::default()
                };
                SharedEnd::Answered(output, Box::new(reply))
            }
            Err((code, message)) => SharedEnd::Ended(Box::new(refused(code, &message, streams))),
        });
        Ok(())
    }

    /// Ends the process. If it had a single call, that call has failed; the results of several calls are unknown.
    fn lose(&mut self, loss: &WorkerLoss) {
        let Some(serving) = self.serving.take() else {
            return;
        };
        let source = Arc::clone(&self.hall.source);
        let is_known = matches!(loss, WorkerLoss::WrongList(_));
        let is_alone = matches!(&self.flying[..], [only] if !only.had_company);
        if self.flying.is_empty() {
            drop(match loss {
                WorkerLoss::Ended => serving.worker.end(),
                _ => serving.worker.kill(),
            });
            return;
        }
        if matches!(loss, WorkerLoss::Ended) && serving.is_unheard && serving.has_answered {
            // The process had ended unnoticed after its earlier calls, so another one gets these.
            drop(serving.worker.end());
            let flying = std::mem::take(&mut self.flying).into_iter();
            return self.put_back(flying.map(|flying| flying.call).collect());
        }
        let log = self.flying.first().map(|flying| &flying.log);
        let Ended::Failed { failure, reply } =
            source.lost(serving.worker, loss, log.unwrap_or(&Tail::default()))
        else {
            // Somebody has stopped the run together with its processes.
            let flying = std::mem::take(&mut self.flying);
            return flying
                .into_iter()
                .for_each(|flying| flying.call.interrupted());
        };
        if !is_known && !is_alone {
            return self.unknown(|_| true, &failure.message);
        }
        for flying in std::mem::take(&mut self.flying) {
            let mut failure = failure.clone();
            failure.stderr = flying.log.text();
            let ended = Ended::Failed {
                failure,
                reply: reply.clone(),
            };
            flying.call.end(SharedEnd::Ended(Box::new(ended)));
        }
    }

    /// Ends the calls that `is_meant` selects with an unknown result.
    fn unknown(&mut self, is_meant: impl Fn(&Flying) -> bool, why: &str) {
        let flying = std::mem::take(&mut self.flying);
        let (meant, others): (Vec<_>, Vec<_>) = flying.into_iter().partition(is_meant);
        self.flying = others;
        for flying in meant {
            self.hall.source.note_asked_alone(why);
            flying.call.end(SharedEnd::Unknown);
        }
    }

    /// Finds calls without an answer in time. Their process gets no more calls; it is killed after it has answered its
    /// other calls.
    fn look_at_the_clock(&mut self) {
        let now = Instant::now();
        if self.flying.iter().all(|flying| flying.deadline > now) {
            return;
        }
        if let [only] = &self.flying[..]
            && !only.had_company
        {
            return self.lose(&WorkerLoss::TimedOut);
        }
        if let Some(serving) = &mut self.serving {
            serving.retired = Some(Retired::Hung);
            let late = self.flying.iter().filter(|flying| flying.deadline <= now);
            serving
                .given_up
                .extend(late.map(|flying| flying.call.message.id.clone()));
        }
        let why = self.hall.source.loss_in_words(&WorkerLoss::TimedOut);
        self.unknown(|flying| flying.deadline <= now, &why);
    }

    fn look_at_the_memory(&mut self) {
        let most = self.hall.source.max_memory();
        let Some(serving) = &mut self.serving else {
            return;
        };
        if !serving.worker.is_too_large(most) {
            return;
        }
        if self.flying.is_empty() {
            self.hall.source.note_replaced();
        }
        self.lose(&WorkerLoss::TooLarge);
    }

    /// Ends everything because the run is stopped.
    fn stop(mut self) {
        if let Some(serving) = self.serving.take() {
            drop(serving.worker.kill());
        }
        let mut waiting = self.hall.waiting();
        waiting.stopped = true;
        let calls = std::mem::take(&mut waiting.calls);
        drop(waiting);
        let flying = std::mem::take(&mut self.flying).into_iter();
        let flying = flying.map(|flying| flying.call);
        flying.chain(calls).for_each(SharedCall::interrupted);
    }
}

impl Serving {
    /// Sends as many bytes as the process accepts now.
    fn send(&mut self) -> io::Result<()> {
        let mut unsent = &self.unsent[..];
        match self.worker.write(&mut unsent) {
            // The end of the process is reported soon.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.unsent.clear();
                return Ok(());
            }
            sent => sent?,
        }
        let sent = self.unsent.len() - unsent.len();
        self.is_unheard &= sent == 0;
        self.unsent.drain(..sent);
        Ok(())
    }
}
