// Uploads the file given first to the URL given second, and prints by how much the process grew, in bytes.
import { createReadStream, statSync } from 'node:fs';

import { putArtifact } from '../../src/clients/artifactUpload.ts';
import { createAgent } from '../../src/clients/service.ts';

const [, , file = '', upload_url = ''] = process.argv;
const agent = createAgent({});
const service = { origin: 'http://127.0.0.1', credentials: {} };

async function put(path: string): Promise<void> {
  const source = () => createReadStream(path, { highWaterMark: 1 << 18 });
  await putArtifact(agent, service, { upload: { upload_url }, source, sizeBytes: statSync(path).size });
}

// What the first request loads and compiles is no part of an upload's memory.
await put(import.meta.filename);
const before = process.memoryUsage.rss();
await put(file);
const peak = process.resourceUsage().maxRSS * 1024;
console.log(JSON.stringify({ grownBytes: peak - before }));
await agent.close();
