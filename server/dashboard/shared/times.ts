// UTC times of the pages, such as 2026-11-29 16:18 or 2026-11-29 16:18:05, in local time.
const WRITTEN = /^\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?$/;

/** Show each UTC time below an element in local time; its title keeps the UTC time. */
export function showLocally(root: ParentNode): void {
  for (const time of root.querySelectorAll<HTMLTimeElement>("time[datetime]:not([title])")) {
    const [text, moment] = [time.textContent.trim(), new Date(time.dateTime)];
    if (!WRITTEN.test(text) || Number.isNaN(moment.getTime())) continue;
    time.title = `${text} UTC`;
    time.textContent = format(moment).slice(0, text.length);
  }
}

/** Return a moment in local time, in the form of the pages. */
function format(moment: Date): string {
  const pad = (number: number): string => String(number).padStart(2, "0");
  const date = [moment.getFullYear(), pad(moment.getMonth() + 1), pad(moment.getDate())].join("-");
  return `${date} ${[moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(pad).join(":")}`;
}
