import { useEffect, useState } from "preact/hooks";

/** A line to copy, with a button that copies it. */
export function CopyLine({ label, text }: { readonly label: string; readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <div class="copy">
      <pre>{text}</pre>
      <button type="button" onClick={() => void copy()} aria-label={`Copy: ${label}`}>
        {isCopied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}
