// Uploads the file in the first argument to the URL in the second, and prints how much the process grew, in bytes.
import { putArtifact } from '../../src/clients/artifactUpload.ts';
import { createAgent } from '../../src/clients/service.ts';

const [, , source = '', upload_url = ''] = process.argv;
const agent = createAgent();
const service = { origin: 'http://127.0.0.1', credentials: {} };

// The first request loads and compiles code, which does not count as an upload's memory.
await putArtifact(agent, service, { upload: { upload_url }, source: import.meta.filename });
const before = process.memoryUsage.rss();
await putArtifact(agent, service, { upload: { upload_url }, source });
const peak = process.resourceUsage().maxRSS * 1024;
console.log(JSON.stringify({ grownBytes: peak - before }));
await agent.close();
