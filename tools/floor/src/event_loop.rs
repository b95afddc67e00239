//! The loop: level-triggered epoll, so that each wake-up costs a connection one read and one write.

use std::convert::Infallible;
use std::io::{self, ErrorKind, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use socket2::{Domain, Protocol, Socket, Type};

use crate::connection::{Answer, Connection, Next};

const BACKLOG: i32 = 4096;
const EVENTS: usize = 512;
const SCRATCH_BYTES: usize = 64 << 10;

/// Every connection, under its descriptor: the kernel keeps those small and dense.
type Connections = Vec<Option<Connection<TcpStream>>>;

/// Answers on `address` until the process is killed; prints `listening on ADDR` once it does.
///
/// # Errors
/// When the address cannot be taken, or epoll itself fails.
pub(crate) fn serve(address: SocketAddr, answer: &Answer) -> io::Result<Infallible> {
    let listener = listen(address)?;
    println!("listening on {}", listener.local_addr()?);
    io::stdout().flush()?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &listener, key(listener.as_raw_fd()), EventFlags::IN)?;
    let mut connections = Connections::new();
    let mut scratch = vec![0; SCRATCH_BYTES];
    let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
    loop {
        if let Err(e) = epoll::wait(&poll, spare_capacity(&mut events), None)
            && e != rustix::io::Errno::INTR
        {
            return Err(e.into());
        }
        for event in events.drain(..) {
            let id = event.data.u64() as usize;
            if id == listener.as_raw_fd() as usize {
                accept_all(&poll, &listener, &mut connections)?;
            } else {
                advance(
                    &poll,
                    &mut connections,
                    id,
                    event.flags,
                    &mut scratch,
                    answer,
                )?;
            }
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn key(fd: i32) -> EventData {
    EventData::new_u64(fd as u64)
}

fn accept_all(
    poll: &OwnedFd,
    listener: &TcpListener,
    connections: &mut Connections,
) -> io::Result<()> {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
            // The client is gone already.
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                ) =>
            {
                continue;
            }
            Err(e) => return Err(e),
        };
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let id = stream.as_raw_fd() as usize;
        epoll::add(poll, &stream, key(stream.as_raw_fd()), EventFlags::IN)?;
        if connections.len() <= id {
            connections.resize_with(id + 1, || None);
        }
        if let Some(slot) = connections.get_mut(id) {
            *slot = Some(Connection::new(stream));
        }
    }
}

/// One event of one connection. Its interest is changed only when it waits for room to send, which is rare.
fn advance(
    poll: &OwnedFd,
    connections: &mut Connections,
    id: usize,
    flags: EventFlags,
    scratch: &mut [u8],
    answer: &Answer,
) -> io::Result<()> {
    let Some(slot) = connections.get_mut(id) else {
        return Ok(());
    };
    let Some(connection) = slot else {
        return Ok(());
    };
    let was_writing = flags.contains(EventFlags::OUT);
    let next = if was_writing {
        connection.writable(answer)
    } else {
        connection.readable(scratch, answer)
    };
    let fd = connection.stream().as_raw_fd();
    match next {
        Next::Read if was_writing => {
            epoll::modify(poll, connection.stream(), key(fd), EventFlags::IN)?
        }
        Next::Write if !was_writing => {
            epoll::modify(poll, connection.stream(), key(fd), EventFlags::OUT)?
        }
        Next::Read | Next::Write => {}
        // Closing the descriptor takes it out of epoll as well.
        Next::Close => *slot = None,
    }
    Ok(())
}
