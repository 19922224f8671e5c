/**
 * A slow, obvious reader of requests, written from RFC 9112 line by line with regular expressions: what the fast one is
 * held against in tests.
 */
export function referenceRequest(
  text: string,
):
  | "refused"
  | { readonly method: string; readonly framing: unknown; readonly keepAlive: boolean; readonly rest: string } {
  const stripped = text.replace(/^(?:\r\n){0,4}/, "");
  const end = stripped.indexOf("\r\n\r\n");
  if (end < 0) return "refused";
  const [start = "", ...lines] = stripped.slice(0, end).split("\r\n");
  const parsed = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}) ([!-"$-~]+) HTTP\/1\.([01])$/.exec(start);
  if (parsed === null) return "refused";
  const [, method = "", target = "", minor] = parsed;
  if (!/^(?:\/|https?:\/\/[^/?@]+(?:[/?]|$))/i.test(target)) return "refused";
  const headers: [string, string][] = [];
  for (const line of lines) {
    const field = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*((?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)[ \t]*$/.exec(line);
    if (field === null) return "refused";
    headers.push([field[1]!.toLowerCase(), field[2]!]);
  }
  const values = (name: string) => headers.filter(([key]) => key === name).map(([, value]) => value);
  const hosts = values("host");
  if (hosts.length > 1 || (hosts.length === 0 && minor === "1")) return "refused";
  const lengths = values("content-length");
  const codings = values("transfer-encoding");
  if (lengths.length > 1 || codings.length > 1 || (lengths.length === 1 && codings.length === 1)) return "refused";
  if (lengths.some((value) => !/^[0-9]{1,15}$/.test(value))) return "refused";
  if (codings.some((value) => value.toLowerCase() !== "chunked" || minor === "0")) return "refused";
  const length = Number(lengths[0] ?? "0");
  const framing =
    codings.length === 1 ? { kind: "chunked" } : length > 0 ? { kind: "length", bytes: length } : { kind: "none" };
  const options = values("connection").flatMap((value) =>
    value
      .toLowerCase()
      .split(",")
      .map((part) => part.trim()),
  );
  const keepAlive = !options.includes("close") && (minor === "1" || options.includes("keep-alive"));
  return { method, framing, keepAlive, rest: stripped.slice(end + 4) };
}
