/** Carriage return. */
export const CR = 13;
/** Line feed. */
export const LF = 10;
/** Blank. */
export const SP = 32;
/** Horizontal tab. */
export const HTAB = 9;
/** `:`. */
export const COLON = 58;

function table(accepts: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (accepts(byte) ? 1 : 0));
}

const TOKEN_MARKS = "!#$%&'*+-.^_`|~";
const isAlphaNumeric = (byte: number) =>
  (byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122);

/** 1 for bytes of a token (RFC 9110 5.6.2): methods and header names. */
export const IS_TOKEN = table((byte) => isAlphaNumeric(byte) || TOKEN_MARKS.includes(String.fromCharCode(byte)));
/** 1 for bytes of a header's value (RFC 9110 5.5): HTAB, SP, visible ASCII and obs-text; no CR, LF, NUL or other control. */
export const IS_VALUE = table((byte) => byte === HTAB || (byte >= 32 && byte !== 127));
/** 1 for bytes of a request target: visible ASCII without `#`, which a client never sends (RFC 9112 3.2). */
export const IS_TARGET = table((byte) => byte > 32 && byte < 127 && byte !== 35);
/** 1 for bytes of a Host value: reg-name, IP literal and port (RFC 3986 3.2.2); no user info, path or blank. */
export const IS_HOST = table(
  (byte) => isAlphaNumeric(byte) || "-._~!$&'()*+,;=:[]%".includes(String.fromCharCode(byte)),
);
/** Value of a hex digit, 255 for any other byte. */
export const HEX_VALUE = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = "0123456789abcdef".indexOf(String.fromCharCode(byte).toLowerCase());
  return digit < 0 ? 255 : digit;
});

/** Whether `bytes[start, end)` equals `lower` but for ASCII case. `lower` must be lower-case ASCII. */
export function equalsLower(bytes: Uint8Array, start: number, end: number, lower: string): boolean {
  if (end - start !== lower.length) return false;
  for (let index = 0; index < lower.length; index++) {
    const byte = bytes[start + index]!;
    const folded = byte >= 65 && byte <= 90 ? byte + 32 : byte;
    if (folded !== lower.charCodeAt(index)) return false;
  }
  return true;
}

/** Whether an LF that no CR precedes stands in `bytes[start, end)`. */
export function hasBareLf(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = bytes.indexOf(LF, start); at >= 0 && at < end; at = bytes.indexOf(LF, at + 1)) {
    if (at === start || bytes[at - 1] !== CR) return true;
  }
  return false;
}

/** A decimal number of 1 to 15 digits (exact as a double) in `bytes[start, end)`, or -1. */
export function parseDecimal(bytes: Uint8Array, start: number, end: number): number {
  if (end <= start || end - start > 15) return -1;
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = bytes[at]! - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

/** `bytes[start, end)` as text, one character a byte, so that it can be written back unchanged. */
export function latin1(bytes: Buffer, start: number, end: number): string {
  return bytes.toString("latin1", start, end);
}
