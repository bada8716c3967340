import { Hono } from 'hono';
import { z } from 'zod';

import { AssistantId, AssistantSearch } from '../../../contract/runApi/assistant.ts';
import { parseOptionalBody, parsePath } from '../../http/parse.ts';
import { type AssistantRecord, type Assistants } from '../graphs/assistants.ts';

const AssistantPath = z.object({ assistant_id: AssistantId });

/** Assistants (contract 001: "not shown"): what the public client asks for. */
export function assistantRoutes(assistants: Assistants): Hono {
  const app = new Hono();
  app.post('/assistants/search', async (c) => {
    const search = await parseOptionalBody(AssistantSearch, c);
    const found = sorted(assistants.all().filter(matcherOf(search)), search);
    return c.json(found.slice(search.offset, search.offset + search.limit));
  });
  app.get('/assistants/:assistant_id', (c) =>
    c.json(assistants.get(parsePath(AssistantPath, c).assistant_id)),
  );
  return app;
}

function matcherOf(search: AssistantSearch): (assistant: AssistantRecord) => boolean {
  const wanted = Object.entries(search.metadata ?? {});
  return (assistant) =>
    (search.graph_id == null || assistant.graph_id === search.graph_id) &&
    (search.name == null || assistant.name.toLowerCase().includes(search.name.toLowerCase())) &&
    wanted.every(([name, value]) => assistant.metadata[name] === value);
}

function sorted(found: AssistantRecord[], search: AssistantSearch): AssistantRecord[] {
  const { sort_by: by, sort_order: order } = search;
  if (by == null) return found;
  const ascending = found.sort((left, right) => left[by].localeCompare(right[by]));
  return order === 'asc' ? ascending : ascending.reverse();
}
