// The entries of the palette, ranked as web/search.py ranks them.
export type Entry = { text: string; kind: string; url: string; detail?: string };
export type Result = { entries: Entry[]; total: number };

const BREAKS = /[\s/._:-]+/;

/** Return the entries of the server that match some words; rejects if the response is an error. */
export async function load(src: string, words: string, signal: AbortSignal): Promise<Result> {
  const url = new URL(src, location.href);
  if (words) url.searchParams.set("q", words);
  const answer = await fetch(url, { signal, headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return (await answer.json()) as Result;
}

/** Return the entries that contain each word, the best matches first. */
export function rank(entries: readonly Entry[], words: string): readonly Entry[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const [first] = wanted;
  if (first === undefined) return entries;
  const begins = (entry: Entry): number =>
    Number(!entry.text.toLowerCase().split(BREAKS).some((part) => part.startsWith(first)));
  return entries
    .filter((entry) => contains(entry, wanted))
    .map((entry) => ({ entry, key: begins(entry) * 1e6 + entry.text.length }))
    .sort((a, b) => a.key - b.key)
    .map(({ entry }) => entry);
}

function contains({ text, detail = "", kind }: Entry, words: readonly string[]): boolean {
  const all = `${text} ${detail} ${kind}`.toLowerCase();
  return words.every((word) => all.includes(word));
}
