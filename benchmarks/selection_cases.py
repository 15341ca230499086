"""Two hundred tools of forty kinds, as public servers of tools have them, and for each a request in the words of a user.

A line is a tool: its name, what it does, its parameters, and after the arrow what somebody asks that needs it. The requests
were written before anything was measured, and are not fitted to what a ranking finds.
"""

from __future__ import annotations

from typing import NamedTuple

TEXT = """
calendar_create_event | Create an event in the user's calendar. | title, start_time, end_time, attendees
  -> put lunch with Sara on my calendar for Tuesday at noon
calendar_list_events | List the calendar events between two dates. | start_date, end_date
  -> what do I have on my calendar this afternoon?
calendar_delete_event | Delete an event from the calendar. | event_id
  -> the dentist thing on Friday is off, take it out of my calendar
calendar_find_free_slot | Find a time slot when all attendees of a meeting are available. | attendees, duration_minutes, window
  -> when are Tom, Priya and I all available for a half hour meeting?
calendar_respond_invitation | Accept, decline or tentatively accept an event invitation. | event_id, response
  -> say no to the invitation for the offsite
email_send_message | Send an email message to one or more recipients. | to, subject, body, attachments
  -> write an email to my landlord that the heating is broken
email_search_messages | Search the mailbox for messages that match a query. | query, folder, limit
  -> dig up the message from the insurance company in my mailbox, it came in March
email_reply_message | Reply to an email message in its thread. | message_id, body
  -> answer Anna's last email and say that Thursday works
email_create_draft | Save an email as a draft without sending it. | to, subject, body
  -> draft an email to the board but don't send it yet
email_create_filter | Create a filter rule that sorts incoming mail into a folder. | sender, folder
  -> everything from the newsletter should go into its own folder in my mail automatically
github_create_issue | Open a new issue in a GitHub repository. | repository, title, body, labels
  -> file a bug in our repo, the login page crashes on Safari
github_list_pull_requests | List the pull requests of a repository by state and author. | repository, state, author
  -> which pull requests are still waiting for review?
github_merge_pull_request | Merge a pull request into its base branch. | repository, number, method
  -> PR 412 is approved, merge it
github_get_file_contents | Read a file from a repository at a branch or commit. | repository, path, ref
  -> show me what is in setup.py on the develop branch of the repository
github_search_code | Search for code across repositories. | query, language
  -> where in our code do we call the payment webhook?
slack_post_message | Post a message to a Slack channel or to a person. | channel, text
  -> tell the #general channel that the server is back up
slack_list_channels | List the channels of a Slack workspace. | include_archived
  -> which slack channels are there about design?
slack_add_reaction | Add an emoji reaction to a Slack message. | channel, timestamp, emoji
  -> put a thumbs up emoji on Maria's slack message
slack_get_channel_history | Get the most recent messages of a Slack channel. | channel, limit
  -> what has been said in the support channel since yesterday?
slack_set_status | Set the user's Slack status text and emoji. | text, emoji, expires
  -> change my slack status to on vacation until Monday
jira_create_ticket | Create a ticket in a Jira project. | project, type, summary, description
  -> make a jira ticket: export to CSV is slow
jira_transition_ticket | Move a Jira ticket to another workflow status. | key, status
  -> move OPS-77 to done in jira
jira_assign_ticket | Assign a Jira ticket to a team member. | key, assignee
  -> give the ticket about the broken build to Kenji
jira_list_sprint_tickets | List the tickets in the current sprint of a board. | board, assignee
  -> what is left to do in this sprint?
jira_log_work | Log time spent on a Jira ticket. | key, hours, comment
  -> I spent three hours on APP-9, log that time
weather_current | Get the current weather conditions for a location. | location, units
  -> what's the weather in Lisbon right now?
weather_forecast | Get a daily weather forecast for up to ten days. | location, days
  -> will it rain in Bergen this weekend according to the forecast?
weather_alerts | List active severe weather alerts for a region. | region
  -> any storm alerts for Florida at the moment?
weather_air_quality | Get the air quality index and pollutant levels of a city. | city
  -> how bad is the air in Delhi today?
weather_historical | Get past weather observations of a location on a date. | location, date
  -> how warm was it in Paris on 14 July 2019? I need past weather data
flights_search | Search for flights between two airports on given dates. | origin, destination, depart_date, return_date
  -> find me a cheap flight from Vienna to Boston in October
flights_book | Book a flight for one or more passengers. | offer_id, passengers, payment_method
  -> book the second flight offer for me and my daughter
flights_cancel_booking | Cancel a flight booking and request a refund. | booking_reference
  -> I can't travel any more, cancel my flight XK39QP
flights_status | Get the live status of a flight: delays, gate and terminal. | flight_number, date
  -> is LH 455 delayed?
flights_check_in | Check in passengers for a flight and issue boarding passes. | booking_reference, seat_preference
  -> check me in for tomorrow's flight, window seat please
hotels_search | Search for hotels in a city by dates, price and rating. | city, check_in, check_out, max_price, stars
  -> I need a hotel in Porto for two nights under 120 euros
hotels_book_room | Book a room in a hotel. | hotel_id, room_type, guests, dates
  -> take the double room at the Grand, the hotel you showed me first
hotels_get_reviews | Get guest reviews of a hotel. | hotel_id, sort
  -> what do guests say about that hotel by the station?
hotels_cancel_reservation | Cancel a hotel reservation. | reservation_id
  -> please call off my hotel reservation in Nice
hotels_list_amenities | List the amenities of a hotel, such as pool, parking and breakfast. | hotel_id
  -> does the hotel have parking and a pool?
stripe_create_payment_link | Create a payment link for a product or amount. | amount, currency, description
  -> I need a link so a customer can pay 250 dollars
stripe_refund_charge | Refund a charge to the customer's card, in full or in part. | charge_id, amount
  -> give the customer her money back, charge ch_88 refund all of it
stripe_list_customers | List customers with their email and default payment method. | email, limit
  -> look up the customer with the address jo@example.com in stripe
stripe_cancel_subscription | Cancel a customer's subscription now or at the end of the period. | subscription_id, at_period_end
  -> end the subscription of Acme at the end of the month
stripe_get_balance | Get the account balance, available and pending. | currency
  -> how much money is pending in our stripe account?
invoice_create | Create an invoice with line items for a client. | client, items, due_date, tax_rate
  -> bill the client Nordwind for 12 hours of consulting, make the invoice due in 30 days
invoice_send_reminder | Send a payment reminder for an overdue invoice. | invoice_id, tone
  -> remind Baker Ltd politely that their invoice is overdue
invoice_mark_paid | Mark an invoice as paid. | invoice_id, paid_on, method
  -> Nordwind paid invoice 2041 today by bank transfer
invoice_list_overdue | List all invoices whose due date has passed. | client
  -> who still owes us on overdue invoices?
invoice_export_pdf | Export an invoice as a PDF document. | invoice_id, template
  -> I need invoice 2041 as a pdf
spotify_play_track | Play a track, album or playlist on a device. | uri, device
  -> play Blue in Green on the kitchen speaker, the Miles Davis track
spotify_create_playlist | Create a playlist with a name and description. | name, description, public
  -> start a new playlist for the road trip
spotify_add_to_playlist | Add tracks to an existing playlist. | playlist_id, track_uris
  -> add that song to my running playlist
spotify_get_recommendations | Recommend tracks based on artists, genres or moods. | seed_artists, seed_genres, mood
  -> recommend me something that sounds like Radiohead and similar artists
spotify_get_lyrics | Get the lyrics of a song. | track_id
  -> what are the lyrics of the second verse of that song?
maps_directions | Get directions between two places by car, transit, bike or foot. | origin, destination, mode
  -> how do I get from the main station to the zoo by bike?
maps_geocode_address | Convert a street address into latitude and longitude. | address
  -> which latitude and longitude is 221B Baker Street?
maps_search_places | Search for places such as restaurants, shops or pharmacies near a location. | query, location, radius
  -> is there a pharmacy near me that's open late?
maps_travel_time | Estimate the travel time between two places with current traffic. | origin, destination, departure_time
  -> how long does the drive to the airport take with this traffic?
maps_static_image | Render a static map image of an area with markers. | center, zoom, markers
  -> make an image of a map with pins on our three offices
kubernetes_list_pods | List the pods in a namespace of a Kubernetes cluster. | namespace, selector
  -> which pods are crash looping in staging?
kubernetes_scale_deployment | Scale a deployment to a number of replicas. | deployment, namespace, replicas
  -> run the checkout deployment with six replicas from now on
kubernetes_get_logs | Get the logs of a container in a pod. | pod, container, tail
  -> let me see the last 200 lines of log of the api pod
kubernetes_rollback_deployment | Roll a deployment back to an earlier revision. | deployment, namespace, revision
  -> the new version is broken, roll the deployment back
kubernetes_apply_manifest | Apply a YAML manifest to the cluster. | manifest, namespace
  -> apply this yaml to the cluster
aws_list_instances | List EC2 virtual machine instances with their state and type. | region, state
  -> which EC2 instances are running in Frankfurt?
aws_stop_instance | Stop a running EC2 instance. | instance_id
  -> shut down the instance i-0ab5
aws_upload_object | Upload an object to an S3 bucket. | bucket, key, content
  -> put this report into our S3 bucket
aws_get_cost_report | Get AWS costs and usage by service for a period. | start, end, group_by
  -> what did AWS cost us last month, by service?
aws_invoke_lambda | Invoke a Lambda function with a payload. | function_name, payload
  -> trigger the thumbnail lambda with this payload
database_run_query | Run a read-only SQL query against the database. | sql, limit
  -> run a query: how many orders per country in the database
database_list_tables | List the tables of a database schema. | schema
  -> which tables are there in the database?
database_describe_table | Describe the columns, types and indexes of a table. | table
  -> what columns does the customers table have?
database_explain_query | Explain the execution plan of a SQL query. | sql
  -> explain why this sql query is slow, show its plan
database_backup | Create a backup of a database. | database, destination
  -> back up the production database before we migrate
crm_create_contact | Create a contact with name, company, email and phone. | name, company, email, phone
  -> save Ms Okafor from Zenith as a new contact
crm_search_contacts | Search contacts by name, company or tag. | query, tag
  -> do we have contacts at Siemens?
crm_update_deal_stage | Move a sales deal to another stage of the pipeline. | deal_id, stage
  -> the Zenith deal goes to the negotiation stage
crm_log_call | Log a phone call with a contact and its notes. | contact_id, notes, duration
  -> note that I had a phone call with Okafor for ten minutes, she is interested
crm_sales_report | Report sales by representative, region or period. | group_by, period
  -> how were sales per region in the last quarter?
shop_search_products | Search products in the store catalogue. | query, category, max_price
  -> do you have products like waterproof hiking boots for under 100?
shop_add_to_cart | Add a product to the shopping cart. | product_id, quantity
  -> two of those in my cart please
shop_checkout | Place the order for the items in the cart. | address_id, payment_method
  -> I'm ready to check out with my saved card
shop_track_order | Track the shipment of an order. | order_id
  -> where is my order 5512?
shop_return_item | Start a return of an item and print the label. | order_id, item_id, reason
  -> the shoes don't fit, I want to return them
recipes_search | Search recipes by ingredients, cuisine or diet. | ingredients, cuisine, diet
  -> what can I cook with leeks and potatoes? a recipe please
recipes_get_nutrition | Get calories and nutrition facts of a recipe or food. | recipe_id, serving
  -> how many calories does the lasagne have?
recipes_convert_units | Convert cooking measures such as cups, grams and ounces. | quantity, from_unit, to_unit
  -> how many grams are two cups of flour?
recipes_make_shopping_list | Make a shopping list from the ingredients of recipes. | recipe_ids, servings
  -> make me a shopping list for the three dinners
recipes_plan_meals | Plan the meals of a week for a number of people and a diet. | days, people, diet
  -> plan vegetarian meals for next week for four people
finance_stock_quote | Get the current price of a stock. | symbol
  -> what is the price of Apple stock?
finance_stock_history | Get historical daily prices of a stock. | symbol, start, end
  -> how has the Tesla stock done since January, day by day prices
finance_exchange_rate | Get the exchange rate between two currencies. | base, target, date
  -> how many yen do I get for 500 euros?
finance_company_filings | List a company's regulatory filings and annual reports. | company, type
  -> get me Nvidia's last annual report
finance_portfolio_value | Calculate the value and performance of an investment portfolio. | holdings
  -> what is my portfolio worth today?
banking_transfer_money | Transfer money between accounts or to a payee. | from_account, to_account, amount
  -> transfer 300 to my savings account
banking_list_transactions | List the transactions of a bank account. | account, start, end, category
  -> what transactions were there on my account last week?
banking_account_balance | Get the balance of a bank account. | account
  -> how much is left on my checking account?
banking_block_card | Block a lost or stolen debit or credit card. | card_id, reason
  -> my credit card was stolen!
banking_pay_bill | Pay a bill to a registered biller. | biller, amount, due_date
  -> pay the electricity bill
news_top_headlines | Get the top news headlines of a country or category. | country, category
  -> what are today's headlines in sports?
news_search_articles | Search news articles by keyword and date. | query, start, end
  -> find news articles about the port strike
news_summarize_article | Summarize a news article from its address. | url, length
  -> give me a summary of this article
news_subscribe_topic | Subscribe to notifications about a news topic. | topic, frequency
  -> notify me about any news on the topic of fusion energy
news_fact_check | Check a claim against published fact checks. | claim
  -> is it true that the wall is visible from space? fact check that
translate_text | Translate text from one language to another. | text, source_language, target_language
  -> how do you say good evening in Polish? translate it
translate_detect_language | Detect the language of a text. | text
  -> what language is this text in?
translate_document | Translate a whole document and keep its layout. | file, target_language
  -> translate this contract document into Spanish, same layout
translate_transliterate | Transliterate text into another script. | text, script
  -> write my name in Cyrillic script
translate_glossary_add | Add a term to the translation glossary. | term, translation
  -> always translate 'account manager' as 'Kundenbetreuer', put that term in the glossary
files_read | Read the contents of a file. | path
  -> open notes.txt and show me the contents
files_write | Write text to a file, replacing what was there. | path, content
  -> save this text to a file named todo.md
files_list_directory | List the files and folders in a directory. | path
  -> what's in my downloads folder? list it
files_move | Move or rename a file. | source, destination
  -> rename report.docx to report-final.docx
files_search | Search for files by name pattern or content. | pattern, root
  -> search for all the pdf files that mention the lease
drive_upload_file | Upload a file to cloud drive. | path, folder_id
  -> upload the slides to the drive
drive_share_file | Share a drive file with people and set their permission. | file_id, emails, role
  -> share the budget sheet with Lea so she can edit
drive_create_folder | Create a folder in cloud drive. | name, parent_id
  -> new folder called Taxes 2026 in my drive
drive_download_file | Download a file from cloud drive. | file_id, format
  -> download the onboarding handbook from drive
drive_restore_version | Restore an earlier version of a drive file. | file_id, version
  -> somebody messed up the sheet in drive, bring back yesterday's version
notion_create_page | Create a page in a Notion workspace. | parent, title, content
  -> start a notion page for the retro
notion_query_database | Query a Notion database with filters and sorts. | database_id, filter, sort
  -> in the notion database of books, which have I rated five stars?
notion_append_block | Append blocks of content to a Notion page. | page_id, blocks
  -> add these bullet points to the end of the notion page
notion_search | Search pages and databases in Notion by title. | query
  -> where is our notion page about hiring?
notion_add_comment | Add a comment to a Notion page. | page_id, text
  -> leave a comment on the roadmap page in notion
todo_add_task | Add a task to the to-do list. | title, due, priority
  -> add buying stamps to my todo list
todo_list_tasks | List open tasks by due date, project or priority. | project, due_before
  -> which tasks are due today?
todo_complete_task | Mark a task as completed. | task_id
  -> I'm done with the laundry task, tick it off
todo_set_reminder | Set a reminder for a time or place. | text, at, place
  -> remind me to call grandma at six
todo_delete_task | Delete a task from the list. | task_id
  -> remove the task about the gutters, somebody else does it
smarthome_set_light | Turn a light on or off and set its brightness and color. | room, on, brightness, color
  -> dim the bedroom light to 20 percent
smarthome_set_thermostat | Set the target temperature of a thermostat. | room, temperature
  -> make it 21 degrees in the living room, set the thermostat
smarthome_lock_door | Lock or unlock a door. | door, locked
  -> did I lock the front door? if not, lock it
smarthome_camera_snapshot | Take a snapshot from a security camera. | camera
  -> take a picture of the driveway with the camera
smarthome_start_vacuum | Start, stop or dock the robot vacuum. | command, rooms
  -> let the robot vacuum the hallway
health_log_workout | Log a workout with type, duration and intensity. | type, minutes, intensity
  -> I ran for 40 minutes, log the workout
health_get_steps | Get the number of steps per day. | start, end
  -> how many steps did I take yesterday?
health_sleep_report | Report sleep duration and quality of the last nights. | nights
  -> how did I sleep this week?
health_track_medication | Track when a medication was taken and when it is due. | name, dose, time
  -> I've taken my blood pressure medication at eight
health_find_doctor | Find doctors by specialty and location who accept new patients. | specialty, location, insurance
  -> I need a doctor for my knee in Graz
image_generate | Generate an image from a text prompt. | prompt, size, style
  -> generate an image of a fox in a spacesuit
image_remove_background | Remove the background of an image. | image
  -> cut out the background of this photo
image_resize | Resize or crop an image. | image, width, height
  -> make this image 800 pixels wide
image_describe | Describe what can be seen in an image. | image
  -> what can you see in this image?
image_extract_text | Extract text from an image by optical character recognition. | image, language
  -> read me the text in the photo of the receipt
video_transcribe | Transcribe the speech of a video with timestamps. | video, language
  -> I need a transcript of the recorded talk, with timestamps
video_trim | Trim a video to a start and end time. | video, start, end
  -> trim the first 30 seconds off the video
video_add_subtitles | Add subtitles to a video. | video, subtitles, language
  -> put German subtitles on the clip
video_search_youtube | Search YouTube for videos and channels. | query, order
  -> find a youtube video on how to bleed a radiator
video_get_statistics | Get views, likes and comments of a published video. | video_id
  -> how many views does our launch video have?
social_publish_post | Publish a post on a social network, now or at a scheduled time. | network, text, media, at
  -> post this on LinkedIn tomorrow at nine
social_get_mentions | Get recent mentions of the account on social networks. | network, since
  -> who has mentioned us on social media this week?
social_reply_comment | Reply to a comment under a post. | comment_id, text
  -> thank Ben for his comment under the post
social_get_followers | Get the follower count and its growth. | network, period
  -> how many followers did we gain in May?
social_schedule_list | List the posts that are scheduled. | network
  -> which posts are scheduled for next week?
rides_request_taxi | Request a taxi or ride to a destination. | pickup, destination, car_type
  -> get me a taxi to the opera
rides_estimate_fare | Estimate the fare of a ride. | pickup, destination
  -> what would a ride to the harbour cost?
rides_cancel | Cancel a requested ride. | ride_id
  -> I don't need the ride any more, cancel it
rides_find_scooter | Find rental scooters and bikes near a location. | location, type
  -> are there scooters to rent around here?
rides_train_departures | List the next train departures from a station. | station, direction
  -> when does the next train leave from Zug station?
food_find_restaurants | Find restaurants that deliver to an address. | address, cuisine
  -> which Thai restaurants deliver to my place?
food_place_order | Place a food delivery order. | restaurant_id, items, address
  -> order two margherita pizzas for delivery
food_reserve_table | Reserve a table at a restaurant. | restaurant, people, time
  -> get us a table for five on Saturday at eight at the Italian restaurant
food_track_delivery | Track a food delivery and its courier. | order_id
  -> how far away is the courier with my food?
food_rate_restaurant | Rate a restaurant and leave a review. | restaurant_id, stars, text
  -> give the sushi restaurant four stars
hr_request_leave | Request vacation, sick or parental leave. | type, start, end
  -> I'd like to take vacation from 3 to 14 August
hr_get_payslip | Get an employee's payslip for a month. | month
  -> can I have my payslip for June?
hr_leave_balance | Get the number of vacation days left. | year
  -> how many vacation days do I have left?
hr_find_employee | Find an employee in the directory by name, team or skill. | query
  -> who in the company directory knows Rust?
hr_submit_expense | Submit an expense for reimbursement with a receipt. | amount, category, receipt
  -> I paid 48 euros for a client dinner, submit that expense
support_open_case | Open a support case for a customer. | customer_id, subject, description, priority
  -> the customer can't log in, open a support case
support_escalate_case | Escalate a support case to a higher tier. | case_id, reason
  -> escalate case 9001, the customer is furious
support_search_articles | Search the help center's knowledge base articles. | query
  -> is there a help article about resetting two factor authentication?
support_close_case | Close a support case with a resolution. | case_id, resolution
  -> the customer says it works now, you can close the case
support_satisfaction_score | Get customer satisfaction scores by agent or period. | group_by, period
  -> how satisfied were customers with support in spring?
security_scan_dependencies | Scan a project's dependencies for known vulnerabilities. | manifest
  -> does our project use any dependencies with vulnerabilities?
security_check_password_leak | Check whether a password or email appears in known leaks. | value
  -> has my email address been in a data leak?
security_rotate_key | Rotate an API key or secret. | key_id
  -> somebody pushed the API key to a public repo, rotate it
security_list_login_attempts | List failed and suspicious login attempts. | user, since
  -> were there suspicious logins on my account?
security_create_user | Create a user account with roles. | username, email, roles
  -> set up an account for the new colleague, a user with the editor role
documents_sign | Request electronic signatures on a document. | document, signers
  -> have both parties sign the lease electronically
documents_extract_tables | Extract tables from a PDF as structured data. | document, pages
  -> get the table on page 4 of the pdf into a spreadsheet
documents_merge | Merge several PDF documents into one. | documents
  -> combine these three pdfs into one
documents_compare | Compare two versions of a document and show the differences. | old, new
  -> what has changed between the two versions of the contract?
documents_fill_form | Fill in the fields of a PDF form. | form, values
  -> fill in the tax form with my details
tests_run | Run a test suite and report failures. | path, marker
  -> run the tests and tell me which fail
tests_coverage | Measure the code coverage of a test suite. | path
  -> how much of the code is covered by tests?
tests_lint | Lint source code and report style problems. | path, fix
  -> check the style of my code with the linter
tests_format_code | Format source code in the project's style. | path
  -> format the code in utils
tests_profile | Profile a program and report the slowest functions. | command
  -> which functions are slow? profile the import script
analytics_page_views | Get page views and visitors of a website. | site, start, end
  -> how many visitors did the website have on Monday?
analytics_conversion_funnel | Get the conversion rate of each step of a funnel. | funnel, period
  -> at which step of the signup funnel do people drop out?
analytics_create_dashboard | Create a dashboard from metrics. | name, metrics
  -> build me a dashboard with revenue and churn
analytics_ab_test_result | Get the result of an A/B test with its significance. | experiment
  -> did the green button win the A/B test?
analytics_export_report | Export an analytics report as CSV. | report, format
  -> export the traffic report to csv
library_search_books | Search the library catalogue for books by title, author or subject. | query, author, subject
  -> does the library have books by Ursula Le Guin?
library_reserve_book | Reserve a book that is out on loan. | book_id
  -> reserve The Dispossessed for me when it comes back
library_renew_loan | Renew the loan of a borrowed book. | loan_id
  -> I'm not through with the book, renew the loan
library_list_loans | List the borrowed books with their due dates. | member_id
  -> which books have I borrowed and when are they due?
library_pay_fine | Pay an overdue fine. | member_id, amount
  -> I was late again, pay my library fine
"""

OTHER_WORDS = """
calendar_find_free_slot -> can the four of us get together some time on Wednesday?
email_send_message -> let my landlord know in writing that the heating is broken
github_create_issue -> file a bug: the login page crashes on Safari
slack_post_message -> let the team know that the server is back up
jira_transition_ticket -> OPS-77 is finished
weather_current -> do I need a coat outside?
flights_search -> how can I fly to Boston cheaply?
hotels_search -> somewhere to stay in Porto for two nights
stripe_refund_charge -> she wants her money back
invoice_list_overdue -> who hasn't paid us yet?
spotify_play_track -> I want to hear some Miles Davis
maps_directions -> how do I get to the zoo?
kubernetes_scale_deployment -> we need more copies of the checkout service
aws_get_cost_report -> what are we spending on the cloud?
database_backup -> make a copy of all our data before the migration
crm_create_contact -> I met Ms Okafor from Zenith, remember her number
shop_track_order -> when does my parcel arrive?
recipes_get_nutrition -> is lasagne fattening?
finance_exchange_rate -> how many yen do I get for 500 euros?
banking_block_card -> somebody took my wallet
news_top_headlines -> what is going on in the world?
translate_text -> how do you say good evening in Polish?
files_search -> where did I put the lease?
drive_share_file -> Lea should be able to see the budget
notion_append_block -> write this down under the meeting notes
todo_set_reminder -> don't let me forget to ring grandma at six
smarthome_set_thermostat -> I'm freezing in the living room
health_get_steps -> how far did I walk yesterday?
image_generate -> draw me a fox in a spacesuit
video_transcribe -> write out what is said in the recording
social_get_followers -> how popular are we on Instagram?
rides_request_taxi -> I need a lift to the opera
food_place_order -> we're hungry, two margheritas please
hr_request_leave -> I'm off to the sea from 3 to 14 August
support_open_case -> a customer can't log in
security_rotate_key -> our token is out in the open
documents_sign -> get both parties to put their names under the lease
tests_run -> have I broken anything?
analytics_page_views -> how many people came to our site on Monday?
library_renew_loan -> I need two more weeks for this novel
"""
"""Requests that have few words in common with the tool that they need, or none: where words fail, and meaning may not."""


class Case(NamedTuple):
    """A tool, and a request that needs it."""

    name: str
    description: str
    parameters: tuple[str, ...]
    request: str


def _read() -> list[Case]:
    lines = TEXT.strip().splitlines()
    cases: list[Case] = []
    for tool, request in zip(lines[::2], lines[1::2], strict=True):
        name, description, parameters = [part.strip() for part in tool.split("|")]
        cases.append(Case(name, description, tuple(parameters.split(", ")), request.strip().removeprefix("-> ")))
    return cases


CASES = _read()
HARD = [(name, request) for name, _, request in (line.partition(" -> ") for line in OTHER_WORDS.strip().splitlines())]
