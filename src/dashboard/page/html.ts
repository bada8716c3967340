import type { JSX } from 'hono/jsx/jsx-runtime';

/** Renders an element as text. Components of the dashboard are synchronous: their data has been read before. */
export function renderText(element: JSX.Element): string {
  if (element instanceof Promise) throw new Error('a component of the dashboard waits for something');
  return element.toString();
}
