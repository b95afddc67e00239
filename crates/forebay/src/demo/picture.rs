//! The demonstration's pictures, made when it starts: a vector drawing as
//! text, and a PNG (ISO/IEC 15948) written without compression.

/// Pixels across.
const WIDTH: u32 = 192;
/// Pixels down.
const HEIGHT: u32 = 128;

/// A dam with the pool in front of it.
pub(super) const DRAWING: &str = include_str!("forebay.svg");

/// An evening over water, in 256 colours: the upper half of the palette is
/// sky, the lower half water.
pub(super) fn evening() -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::with_capacity(13);
    header.extend(WIDTH.to_be_bytes());
    header.extend(HEIGHT.to_be_bytes());
    // Eight bits a pixel, by palette, and the only methods there are.
    header.extend([8, 3, 0, 0, 0]);
    chunk(&mut png, b"IHDR", &header);
    chunk(&mut png, b"PLTE", &palette());
    chunk(&mut png, b"IDAT", &zlib_stored(&rows()));
    chunk(&mut png, b"IEND", &[]);
    png
}

fn palette() -> Vec<u8> {
    let blend = |from: [u8; 3], to: [u8; 3], step: u8| {
        let part = |i: usize| {
            let (a, b, s) = (u32::from(from[i]), u32::from(to[i]), u32::from(step));
            ((a * (127 - s) + b * s) / 127) as u8
        };
        [part(0), part(1), part(2)]
    };
    let sky = (0..128).flat_map(|step| blend([28, 52, 94], [246, 186, 132], step));
    let water = (0..128).flat_map(|step| blend([214, 160, 126], [16, 44, 72], step));
    sky.chain(water).collect()
}

/// The pixels, each row after its filter byte (0: none).
fn rows() -> Vec<u8> {
    let horizon = HEIGHT * 5 / 8;
    let mut rows = Vec::with_capacity(((WIDTH + 1) * HEIGHT) as usize);
    for y in 0..HEIGHT {
        rows.push(0);
        rows.extend((0..WIDTH).map(|x| {
            if y < horizon {
                sky(x, y, horizon)
            } else {
                water(x, y - horizon)
            }
        }));
    }
    rows
}

fn sky(x: u32, y: u32, horizon: u32) -> u8 {
    let (dx, dy) = (i64::from(x) - 132, i64::from(y) - i64::from(horizon) + 14);
    if dx * dx + dy * dy < 15 * 15 {
        return 127;
    }
    (y * 118 / horizon) as u8
}

fn water(x: u32, depth: u32) -> u8 {
    let level = depth * 110 / (HEIGHT * 3 / 8);
    // Ripples that grow nearer, as bands whose phase drifts with the row.
    let ripple = if (x + depth * depth / 3) % (9 + depth / 2) < 3 + depth / 8 {
        14
    } else {
        0
    };
    128 + (level + ripple).min(127) as u8
}

fn chunk(png: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    png.extend((data.len() as u32).to_be_bytes());
    let start = png.len();
    png.extend(name);
    png.extend(data);
    let sum = crc32(&png[start..]);
    png.extend(sum.to_be_bytes());
}

/// RFC 1950 around RFC 1951 blocks that are stored as they are.
fn zlib_stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = data.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        out.push(u8::from(blocks.peek().is_none()));
        let length = block.len() as u16;
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out.extend(adler32(data).to_be_bytes());
    out
}

fn adler32(data: &[u8]) -> u32 {
    let (a, b) = data.iter().fold((1u32, 0u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    b << 16 | a
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_the_published_ones() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }

    #[test]
    fn every_pixel_is_in_the_stored_blocks() {
        let rows = rows();
        assert_eq!(rows.len(), ((WIDTH + 1) * HEIGHT) as usize);
        assert_eq!(zlib_stored(&rows).len(), rows.len() + 2 + 5 + 4);
        assert_eq!(palette().len(), 3 * 256);
    }
}
