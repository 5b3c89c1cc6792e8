//! The messages between this program and its supervisors. Both run the same file, so the messages need
//! no version.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::{OwnStreams, StopOrder, Streams, SupervisedProgram, SupervisorReply};

/// The prefixes of orders and replies.
const START: u8 = b's';
const USUAL: u8 = b'l';
const ASK: u8 = b't';
const KILL: u8 = b'k';
const ENDED: u8 = b'e';
const NOT_STARTED: u8 = b'n';
const UNABLE: u8 = b'u';

/// The size of a letter and the length of the data that follow.
const HEAD: usize = 5;
/// The size of a letter and two numbers.
const REPLY: usize = 9;

/// An order to a supervisor.
#[derive(Debug)]
pub(super) enum SupervisorOrder {
    /// Starts a program with its own streams.
    Start(SupervisedProgram, OwnStreams),
    /// The streams for every program without its own streams.
    Usual(Streams),
    Stop(StopOrder),
}

/// The order to start a program. It is sent together with the streams that `own` marks, in order. Fails if a text
/// contains a zero byte, which no argument can contain.
pub(super) fn start(program: &SupervisedProgram, own: [bool; 3]) -> io::Result<Vec<u8>> {
    let variables = program.variables.iter();
    let texts = variables.flat_map(|(name, value)| [name, value]);
    let texts = texts.chain(&program.words).map(OsString::as_os_str);
    let mut texts = texts.chain([program.folder.as_os_str()]);
    if texts.any(|text| text.as_bytes().contains(&0)) {
        let message = "a word of its command line or environment has a zero byte in it";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let order = serde_json::to_vec(&(program, own))?;
    let too_long = |_| io::Error::new(io::ErrorKind::ArgumentListTooLong, "it is too long");
    let length = u32::try_from(order.len()).map_err(too_long)?;
    Ok([&[START], &length.to_le_bytes()[..], &order].concat())
}

/// The order to store the streams that are sent with it.
pub(super) const fn usual() -> [u8; HEAD] {
    [USUAL, 0, 0, 0, 0]
}

/// The order to stop the running program.
pub(super) const fn stop(stop: StopOrder) -> [u8; HEAD] {
    match stop {
        StopOrder::Ask => [ASK, 0, 0, 0, 0],
        StopOrder::Kill => [KILL, 0, 0, 0, 0],
    }
}

/// Sends an order; the streams go together with its first byte. Fails if the process at the other end of the socket has
/// ended.
pub(super) fn send(mut socket: &UnixStream, order: &[u8], streams: &[OwnedFd]) -> io::Result<()> {
    let streams: Vec<BorrowedFd<'_>> = streams.iter().map(OwnedFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !streams.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(&streams)) {
        return Err(io::Error::other("there is no room for the streams"));
    }
    let sent = loop {
        match sendmsg(
            socket,
            &[IoSlice::new(order)],
            &mut beside,
            SendFlags::empty(),
        ) {
            Err(rustix::io::Errno::INTR) => {}
            sent => break sent?,
        }
    };
    socket.write_all(&order[sent..])
}

/// Waits for an order; none if the process at the other end has closed the connection. Fails if the received bytes are
/// not an order.
pub(super) fn order(mut socket: &UnixStream) -> io::Result<Option<SupervisorOrder>> {
    let mut head = [0; HEAD];
    let mut streams = Vec::new();
    let mut read = 0;
    while read < HEAD {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut head[read..])];
        let received = match recvmsg(socket, into, &mut beside, FLAGS) {
            Err(rustix::io::Errno::INTR) => continue,
            received => received?,
        };
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                streams.extend(received);
            }
        }
        if received.bytes == 0 {
            return Ok(None);
        }
        read += received.bytes;
    }
    let [letter, length @ ..] = head;
    match letter {
        ASK => return Ok(Some(SupervisorOrder::Stop(StopOrder::Ask))),
        KILL => return Ok(Some(SupervisorOrder::Stop(StopOrder::Kill))),
        USUAL => {
            let streams = Streams::try_from(streams).map_err(|_| io::ErrorKind::InvalidData)?;
            return Ok(Some(SupervisorOrder::Usual(streams)));
        }
        START => {}
        _ => return Err(io::ErrorKind::InvalidData.into()),
    }
    let mut text = vec![0; u32::from_le_bytes(length) as usize];
    socket.read_exact(&mut text)?;
    let (program, own): (SupervisedProgram, [bool; 3]) = serde_json::from_slice(&text)?;
    if own.iter().filter(|own| **own).count() != streams.len() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut streams = streams.into_iter();
    let own = own.map(|own| if own { streams.next() } else { None });
    Ok(Some(SupervisorOrder::Start(program, own)))
}

/// The started programs must not inherit the received descriptors.
#[cfg(target_os = "linux")]
const FLAGS: RecvFlags = RecvFlags::CMSG_CLOEXEC;
/// Other systems cannot set this flag while receiving a message.
#[cfg(not(target_os = "linux"))]
const FLAGS: RecvFlags = RecvFlags::empty();

/// Reports how a program ended. Fails if the process at the other end of the socket has ended.
pub(super) fn answer(mut socket: &UnixStream, reply: SupervisorReply) -> io::Result<()> {
    let (letter, value, left) = match reply {
        SupervisorReply::Ended(status, left) => (ENDED, status, left),
        SupervisorReply::NotStarted(reason) => (NOT_STARTED, reason, 0),
        SupervisorReply::Unable(reason) => (UNABLE, reason, 0),
    };
    let mut bytes = vec![letter];
    bytes.extend(value.to_le_bytes());
    bytes.extend(left.to_le_bytes());
    socket.write_all(&bytes)
}

/// Waits until a program has ended. Fails if the process at the other end of the socket has ended.
pub(super) fn reply(mut socket: &UnixStream) -> io::Result<SupervisorReply> {
    let mut bytes = [0; REPLY];
    socket.read_exact(&mut bytes)?;
    let [letter, v0, v1, v2, v3, left @ ..] = bytes;
    let value = i32::from_le_bytes([v0, v1, v2, v3]);
    match letter {
        ENDED => Ok(SupervisorReply::Ended(value, u32::from_le_bytes(left))),
        NOT_STARTED => Ok(SupervisorReply::NotStarted(value)),
        UNABLE => Ok(SupervisorReply::Unable(value)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_program_arrives_as_it_was_sent_with_the_streams_that_it_gets() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let mut program = SupervisedProgram::new("näme", Path::new("/some where"));
        let long = "x".repeat(100_000);
        program
            .args(["", "a b", long.as_str()])
            .envs([("EMPTY", ""), ("SET", "=")]);
        let (said, heard) = io::pipe().expect("a pipe");
        let none = || std::fs::File::open("/dev/null").expect("opened").into();
        let streams = [heard.into()];
        send(&ours, &stop(StopOrder::Ask), &[]).expect("sent");
        send(&ours, &usual(), &[none(), none(), none()]).expect("sent");
        let order_sent = start(&program, [false, true, false]).expect("no zero byte");
        std::thread::scope(|scope| {
            scope.spawn(|| send(&ours, &order_sent, &streams).expect("sent"));
            let first = order(&theirs).expect("read").expect("there");
            assert!(matches!(first, SupervisorOrder::Stop(StopOrder::Ask)));
            let second = order(&theirs).expect("read").expect("there");
            assert!(matches!(second, SupervisorOrder::Usual(_)));
            let third = order(&theirs).expect("read").expect("there");
            let SupervisorOrder::Start(got, [None, Some(output), None]) = third else {
                panic!("a program was sent, with its output");
            };
            assert_eq!(got.words, program.words);
            assert_eq!(got.variables, program.variables);
            assert_eq!(got.folder, program.folder);
            let mut writer = std::fs::File::from(output);
            writer.write_all(b"heard").expect("written");
        });
        drop(streams);
        let mut text = String::new();
        let mut said = said;
        said.read_to_string(&mut text).expect("read");
        assert_eq!(text, "heard");
        drop(ours);
        assert!(order(&theirs).expect("no failure").is_none());
    }

    #[test]
    fn a_zero_byte_is_refused_before_anything_is_sent() {
        let mut program = SupervisedProgram::new("sh", Path::new("/"));
        program.args(["a\0b"]);
        let error = start(&program, [true; 3]).expect_err("refused");
        insta::assert_snapshot!(error.to_string(), @"a word of its command line or environment has a zero byte in it");
    }

    #[test]
    fn half_an_order_is_no_order() {
        let whole = SupervisedProgram::new("sh", Path::new("/"));
        let whole = start(&whole, [false; 3]).expect("no zero byte");
        for length in 1..=whole.len() {
            let (mut ours, theirs) = UnixStream::pair().expect("a pair");
            ours.write_all(&whole[..length]).expect("sent");
            drop(ours);
            let is_order = matches!(order(&theirs), Ok(Some(_)));
            assert_eq!(is_order, length == whole.len(), "{length}");
        }
    }

    #[test]
    fn a_reply_arrives_as_it_was_given() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        for sent in [
            SupervisorReply::Ended(-1, 3),
            SupervisorReply::NotStarted(2),
            SupervisorReply::Unable(7),
        ] {
            answer(&theirs, sent).expect("sent");
            assert_eq!(reply(&ours).expect("read"), sent);
        }
    }
}
