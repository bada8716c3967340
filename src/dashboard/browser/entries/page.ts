import { followLive } from '../live.ts';
import { keepTimes } from '../times.ts';

keepTimes();
followLive();
