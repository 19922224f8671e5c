/** A text of the region with its `quoted` commands set as code. */
export function Prose({ text }: { readonly text: string }) {
  const pieces = text.split("`");
  return <>{pieces.map((piece, index) => (index % 2 === 1 ? <code key={`${index}${piece}`}>{piece}</code> : piece))}</>;
}
