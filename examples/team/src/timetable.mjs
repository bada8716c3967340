import { tool } from '@langchain/core/tools';

/** The next departure to each city. */
const DEPARTURES = {
  Berlin: '10:30',
  Hamburg: '11:05',
  Munich: '12:40',
  Prague: '09:15',
  Vienna: '13:20',
};

/** A tool: the next departure to a city. */
export const timetable = tool(({ city }) => DEPARTURES[city] ?? 'none', {
  name: 'timetable',
  description: 'The next departure to a city',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
});
