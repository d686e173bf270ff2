// The entries of the palette, ranked as web/search.py ranks them.
export type Entry = { text: string; kind: string; url: string; detail?: string };
export type Result = { entries: Entry[]; total: number };

const BREAKS = new Set(" /._:-");

/** Return the entries of the server that match some words; rejects if the response is an error. */
export async function load(src: string, words: string, signal: AbortSignal): Promise<Result> {
  const url = new URL(src, location.href);
  if (words) url.searchParams.set("q", words);
  const answer = await fetch(url, { signal, headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return (await answer.json()) as Result;
}

/** Return the entries that contain each word, the best matches first. */
export function rank(entries: readonly Entry[], query: string): readonly Entry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return entries;
  const whole = words.join(" ");
  const places = new Map<string, number>();
  const found: { entry: Entry; key: number[] }[] = [];
  for (const entry of entries) {
    if (!places.has(entry.kind)) places.set(entry.kind, places.size);
    if (!contains(entry, words)) continue;
    const text = entry.text.toLowerCase();
    const quality = words.reduce((sum, word) => sum + match(text, word), 0);
    found.push({ entry, key: [Number(text !== whole), quality, places.get(entry.kind)!, text.length] });
  }
  return found.sort((a, b) => compare(a.key, b.key)).map(({ entry }) => entry);
}

function contains({ text, detail = "", kind }: Entry, words: readonly string[]): boolean {
  const all = `${text} ${detail} ${kind}`.toLowerCase();
  return words.every((word) => all.includes(word));
}

/** Return how well a text has a word: 0 as a word, 1 at the start of one, 2 inside, 3 not. */
function match(text: string, word: string): number {
  let best = 3;
  for (let at = text.indexOf(word); at >= 0 && best > 0; at = text.indexOf(word, at + 1)) {
    const end = at + word.length;
    const begins = at === 0 || BREAKS.has(text[at - 1]!) || BREAKS.has(word[0]!);
    const ends = end === text.length || BREAKS.has(text[end]!) || BREAKS.has(word.at(-1)!);
    best = Math.min(best, begins ? (ends ? 0 : 1) : 2);
  }
  return best;
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, place) => value !== b[place]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}
